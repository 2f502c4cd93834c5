"""Where questions and paragraphs come from and how many; the `data` section of params.yaml."""

import math
from dataclasses import dataclass

from posttrain.errors import SettingsError

SOURCES = ("miniwiki", "files", "hotpotqa")
LEVELS = ("easy", "medium", "hard")
TYPES = ("single", "bridge", "comparison")
HOTPOT_TEST, HOTPOT_VAL = 500, 200
MIN_PARAGRAPHS, MAX_PARAGRAPHS = 60, 500_000


@dataclass(frozen=True)
class DataSettings:
    """One source and its sizes.

    `train` null takes every train row there is (not for miniwiki). `paragraphs`, `seed` and `levels` (shares of the
    questions, summing to 1) shape miniwiki only; `revision` pins the hub's commit for hotpotqa only.

    Source files wants `train_file` and `dev_file`, or one `file`. A `file` is told apart into train and dev by
    `split_field` (dev rows hold one of `dev_values` there), or by `dev_ids_file` (JSONL whose ids name the dev rows),
    or, with neither, test and val are cut from it at random and the rest is train. `corpus_file` (id, title, text)
    takes the place of the rows' own contexts. Paths are relative to the repository root.
    """

    source: str
    paragraphs: int
    train: int | None
    val: int
    test: int
    seed: int
    levels: dict[str, float]
    train_file: str | None
    dev_file: str | None
    file: str | None
    split_field: str | None
    dev_values: list[str]
    dev_ids_file: str | None
    corpus_file: str | None
    revision: str | None

    def check(self) -> None:
        """Raises SettingsError for a value out of range or impossible beside another."""
        if self.source not in SOURCES:
            raise SettingsError(f"source: must be one of {', '.join(SOURCES)}, is {self.source!r}")
        for name in ("train", "val", "test"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name}: must be at least 1, is {value}; it counts questions")
        if self.source == "miniwiki":
            self._check_miniwiki()
        elif self.source == "files":
            self._check_files()
        else:
            self._check_hotpotqa()

    def _check_miniwiki(self) -> None:
        if self.train is None:
            raise SettingsError("train: must be a number for source miniwiki, which makes its questions, is null")
        check_world(self.paragraphs, self.levels)

    def _check_files(self) -> None:
        if self.file is None:
            missing = [name for name in ("train_file", "dev_file") if getattr(self, name) is None]
            if missing:
                raise SettingsError(f"{missing[0]}: must be set; source files needs train_file and dev_file, or file")
            for name in ("split_field", "dev_ids_file"):
                if getattr(self, name) is not None:
                    raise SettingsError(f"{name}: tells the rows of data.file apart; set data.file or unset it")
        elif self.train_file is not None or self.dev_file is not None:
            raise SettingsError("file: cannot stand beside data.train_file or data.dev_file; unset one of them")
        if self.split_field is not None and self.dev_ids_file is not None:
            raise SettingsError("split_field: data.dev_ids_file too says which rows are dev; unset one of them")
        if (self.split_field is None) != (not self.dev_values):
            raise SettingsError("split_field: goes together with data.dev_values; set both or neither")

    def _check_hotpotqa(self) -> None:
        for name, wanted in (("test", HOTPOT_TEST), ("val", HOTPOT_VAL)):
            if getattr(self, name) != wanted:
                raise SettingsError(
                    f"{name}: must be {wanted}, is {getattr(self, name)}; else results on hotpotqa are not comparable"
                )
        if not self.revision:
            raise SettingsError("revision: must be set; pin the commit of hotpotqa/hotpot_qa on the hub")


def check_world(paragraphs: int, levels: dict[str, float]) -> None:
    """Raises SettingsError when no generated world can have this size or these shares of levels."""
    if not MIN_PARAGRAPHS <= paragraphs <= MAX_PARAGRAPHS:
        raise SettingsError(f"paragraphs: must be from {MIN_PARAGRAPHS} to {MAX_PARAGRAPHS}, is {paragraphs}")
    unknown = sorted(set(levels) - set(LEVELS))
    if unknown:
        raise SettingsError(f"levels.{unknown[0]}: unknown level; known: {', '.join(LEVELS)}")
    for name, share in levels.items():
        if not (math.isfinite(share) and share >= 0):
            raise SettingsError(f"levels.{name}: must be at least 0, is {share}")
    if abs(sum(levels.values()) - 1) > 1e-6:
        raise SettingsError(f"levels: must sum to 1, sums to {sum(levels.values()):g}")
