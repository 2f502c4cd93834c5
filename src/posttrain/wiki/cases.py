"""Episodes beside their questions: what a person needs to judge one."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import DataError
from posttrain.files import Row, read_jsonl
from posttrain.rollout.episode import End, Episode
from posttrain.wiki.questions import PREP
from posttrain.wiki.traces import RUNS, Trace, read_traces, run_folder

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Score:
    """What `score` found: exact match and F1 in [0, 1], and a label if the episode failed."""

    em: float
    f1: float
    label: str | None


@dataclass(frozen=True)
class Case:
    """One episode; `score` is None in a run that has not been scored.

    Without scores, question, answers and titles are those of data/prep, empty where it lacks them.
    """

    episode: Episode
    question: str
    answers: list[str]
    gold_titles: list[str]
    score: Score | None

    @property
    def failed(self) -> bool:
        """By its label; in a run without scores, whether it ended in anything but an answer."""
        return self.episode.end is not End.ANSWER if self.score is None else self.score.label is not None

    @property
    def verdict(self) -> str:
        """The label, `solved`, or how an unscored episode ended."""
        return f"ended: {self.episode.end}" if self.score is None else self.score.label or "solved"


@dataclass(frozen=True)
class Run:
    """A run by its name, such as `test/grpo`, with its episodes in the order of the file."""

    name: str
    cases: list[Case]

    @property
    def scored(self) -> bool:
        """Whether there are scores; an empty run counts as scored."""
        return all(case.score is not None for case in self.cases)


def from_here(name: str) -> str:
    """A run given as a path from the working directory, made absolute; a run's name stays as it is."""
    return str(Path(name).absolute()) if Path(name, "episodes.jsonl").is_file() else name


def read_run(name: str) -> Run:
    """The run of that name or path, from the project's folder.

    Raises:
        DataError: there is no such run, or a file of it is missing or malformed.
    """
    folder = run_folder(name)
    traces = read_traces(folder)
    known = _known() if any(trace.scored is None for trace in traces) else {}
    inside = folder.absolute().is_relative_to(RUNS.absolute())
    shown = folder.absolute().relative_to(RUNS.absolute()) if inside else folder
    return Run(str(shown), [_case(trace, known, folder) for trace in traces])


def pick(run: Run, wanted: str) -> list[Case]:
    """The attempts at the question of that id, else the episodes whose question holds the text in any case.

    Raises:
        DataError: there is none; the message names the nearest ids.
    """
    found = [case for case in run.cases if case.episode.id == wanted]
    found = found or [case for case in run.cases if wanted and wanted.casefold() in case.question.casefold()]
    if not found:
        raise DataError(f"no id and no question of {run.name} is or holds {wanted[:200]!r}{_near(run, wanted)}")
    return found


def attempt_at(run: Run, wanted: str, attempt: int | None) -> Case:
    """The episode of that id; of several attempts the one of that number, or the first.

    Raises:
        DataError: there is no such id, or no such attempt at it.
    """
    attempts = {case.episode.attempt: case for case in run.cases if case.episode.id == wanted}
    if not attempts:
        raise DataError(f"{run.name} has no episode {wanted[:200]!r}{_near(run, wanted)}")
    number = min(attempts) if attempt is None else attempt
    if number not in attempts:
        there = ", ".join(map(str, sorted(attempts)))
        raise DataError(f"{run.name} has no attempt {number} at {wanted}; there is --attempt {there}")
    return attempts[number]


def _near(run: Run, wanted: str) -> str:
    ids = list(dict.fromkeys(case.episode.id for case in run.cases))
    if not ids:
        return ": it has no episodes; `dvc repro` makes it again"
    near = difflib.get_close_matches(wanted[:200], ids, 3)
    return f"; did you mean {' or '.join(near)}?" if near else f"; ids look like {', '.join(ids[:3])}"


def _known() -> dict[str, tuple[Row, list[str]]]:
    """Question row and gold titles by id, as far as data/prep is there."""

    def rows(name: str) -> Sequence[Row]:
        path = PREP / f"{name}.jsonl"
        return list(read_jsonl(path)) if path.exists() else []

    titles = {row.get("id"): row.get("titles", []) for row in rows("gold")}
    return {row["id"]: (row, titles.get(row["id"], [])) for split in SPLITS for row in rows(split) if "id" in row}


def _case(trace: Trace, known: dict[str, tuple[Row, list[str]]], folder: Path) -> Case:
    episode, row = trace.episode, trace.scored
    _check_lengths(episode, folder)
    if row is None:
        question, titles = known.get(episode.id, ({}, []))
        return Case(episode, str(question.get("question", "")), list(question.get("answers", [])), titles, None)
    try:
        score = Score(float(row["em"]), float(row["f1"]), None if row["label"] is None else str(row["label"]))
        answers, titles = [str(answer) for answer in row["answers"]], [str(title) for title in row["gold_titles"]]
        return Case(episode, str(row["question"]), answers, titles, score)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder}/scored.jsonl: the row of {episode.id} is no score: {error!r}; run `dvc repro`"
        ) from error


def _check_lengths(episode: Episode, folder: Path) -> None:
    lengths = {len(episode.tokens), len(episode.sampled), len(episode.logprobs)}
    if len(lengths) > 1:
        raise DataError(
            f"{folder}/episodes.jsonl: {episode.id} has {len(episode.tokens)} tokens, {len(episode.sampled)} flags and "
            f"{len(episode.logprobs)} logprobs, which must be as many; run `dvc repro`"
        )
