"""Labels that people gave to failed episodes, and how they agree with the automatic ones.

A line each in `labels/`, which git keeps; `label_file` writes them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from posttrain.errors import DataError
from posttrain.rollout.episode import Episode
from posttrain.stats.kappa import cohen_kappa
from posttrain.wiki.cases import Case, Run
from posttrain.wiki.human_words import HUMAN, comparable

FOLDER = Path("labels")
Key = tuple[str, int]
"""Question id and number of the attempt."""


@dataclass(frozen=True)
class HumanLabel:
    """One line.

    run: its name. id, attempt: which episode. episode: hash of it (see `episode_hash`). automatic, human: the two
    labels. note: free text, may be empty. who: the person. when: ISO 8601 in UTC.
    """

    run: str
    id: str
    attempt: int
    episode: str
    automatic: str
    human: str
    note: str
    who: str
    when: str

    @property
    def key(self) -> Key:
        """Which episode of its run it is about."""
        return self.id, self.attempt


@dataclass(frozen=True)
class Agreement:
    """Human beside automatic labels, the newest of each episode.

    Attributes:
        counts: episodes by (human, automatic), the automatic label as the scorer gives it now.
        outdated: labels left out because the episode is not the one that was labelled, or is gone.
        solved: labels left out because the scorer no longer calls the episode failed.
    """

    counts: Counter[tuple[str, str]]
    outdated: int
    solved: int

    @property
    def n(self) -> int:
        """Episodes compared."""
        return self.counts.total()

    @property
    def agreed(self) -> int:
        """Of them, those with equal labels."""
        return sum(count for (human, automatic), count in self.counts.items() if human == comparable(automatic))

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None where it is undefined."""
        pairs = Counter[tuple[str, str]]()
        for (human, automatic), count in self.counts.items():
            pairs[human, comparable(automatic)] += count
        return cohen_kappa(pairs.elements())


def episode_hash(episode: Episode) -> str:
    """Hex SHA-256 of the episode's tokens and answer: another sample or model gives another."""
    return hashlib.sha256(json.dumps([episode.tokens, episode.answer]).encode()).hexdigest()


def labels_path(run: str) -> Path:
    """The file of a run's labels, in the project's folder."""
    return FOLDER / f"{run.strip('/').replace('/', '-')}.jsonl"


def read_labels(run: str) -> list[HumanLabel]:
    """All labels of a run, oldest first, those that were given again included; none if nobody has labelled it.

    Raises:
        DataError: a line is torn or malformed, by file and number.
    """
    path = labels_path(run)
    if not path.exists():
        return []
    lines = enumerate(path.read_bytes().split(b"\n"), 1)
    labels = [_parsed(line, f"{path}:{number}") for number, line in lines if line.strip()]
    return [label for label in labels if label.run == run]  # `a/b` and `a-b` share a file


def current_labels(run: Run, labels: Sequence[HumanLabel]) -> dict[Key, HumanLabel]:
    """The newest label of each episode that is still the one that was labelled."""
    hashes = {(case.episode.id, case.episode.attempt): episode_hash(case.episode) for case in run.cases}
    return {key: label for key, label in _newest(labels).items() if hashes.get(key) == label.episode}


def agreement(run: Run, labels: Sequence[HumanLabel]) -> Agreement:
    """How the labels of `read_labels` compare with those that the run's episodes have now."""
    current = current_labels(run, labels)
    automatic = {(case.episode.id, case.episode.attempt): automatic_label(case) for case in run.cases}
    given = [(label.human, automatic[key]) for key, label in current.items()]
    counts = Counter((human, label) for human, label in given if label is not None)
    return Agreement(counts, len(_newest(labels)) - len(current), len(given) - counts.total())


def automatic_label(case: Case) -> str | None:
    """The scorer's label; None if it calls the episode solved, or has not scored it."""
    return case.score.label if case.score else None


def _newest(labels: Sequence[HumanLabel]) -> dict[Key, HumanLabel]:
    return {label.key: label for label in labels}


def _parsed(line: bytes, where: str) -> HumanLabel:
    advice = "mend or remove that line; git has the last committed version"
    try:
        row = json.loads(line)
        label = HumanLabel(**row)
    except (ValueError, TypeError, RecursionError) as error:
        shown = " ".join(str(error).replace("HumanLabel.__init__()", "it").split())
        raise DataError(f"{where}: not a label: {shown}; {advice}") from error
    for field in fields(HumanLabel):
        if type(getattr(label, field.name)) is not field.type:
            raise DataError(f"{where}: {field.name} is {row[field.name]!r}; {advice}")
    if label.human not in HUMAN:
        raise DataError(f"{where}: there is no label {label.human!r}, only {', '.join(HUMAN)}; {advice}")
    return label
