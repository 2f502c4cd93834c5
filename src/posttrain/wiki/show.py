"""A run in numbers, some of its episodes with their traces, and what changed between two runs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from posttrain.chat.format import ChatFormat
from posttrain.errors import DataError
from posttrain.stats.bootstrap import Estimate, mean_intervals
from posttrain.stats.paired import check_same_ids
from posttrain.terminal import harmless
from posttrain.wiki.cases import Case, Run
from posttrain.wiki.summary import CONFIDENCE, RESAMPLES, SEED
from posttrain.wiki.trace_text import SHORT, described, rendered

Pair = tuple[Case, Case]
"""The same question in two runs: before and after."""


def numbers(run: Run) -> list[str]:
    """How the run's episodes ended, how much they searched, what they scored and why they failed."""
    questions = len({case.episode.id for case in run.cases})
    lines = [f"{harmless(run.name)}: {_count(len(run.cases), 'episode')} of {_count(questions, 'question')}"]
    if not run.cases:
        return lines
    searches = [len(case.episode.info.get("queries", [])) for case in run.cases]
    spread = ", ".join(f"{number} in {count}" for number, count in sorted(Counter(searches).items()))
    lines.append(f"  ended     {_counts(case.episode.end for case in run.cases)}")
    lines.append(f"  searches  {spread}; mean {fmean(searches):.2f}")
    if not run.scored:
        return [*lines, "  scores    none, and so no labels: this run has no scored.jsonl"]
    lines.append(f"  F1        {_interval(_mean([_f1(case) for case in _by_id(run.cases)]))}, n {len(run.cases)}")
    lines.append(f"  EM        {fmean(case.score.em for case in run.cases if case.score):.3f}, n {len(run.cases)}")
    return [*lines, f"  labels    {_counts(case.verdict for case in run.cases)}"]


def episode_lines(case: Case, chat: ChatFormat, colour: bool) -> list[str]:
    """One episode: id and scores, what was asked, expected and answered, then its trace."""
    return ["", _title(case), *described(case), "", *rendered(case, chat, colour)]


def paired(before: Run, after: Run) -> list[Pair]:
    """The two runs question by question, in the order of `after`.

    Raises:
        DataError: a run has no scores, or they answered different questions.
    """
    for run in (before, after):
        if not run.scored:
            raise DataError(f"{run.name} has no scores to compare; name a run that has, such as test/base")
    earlier = {_key(case): case for case in before.cases}
    check_same_ids(before.name, earlier, [_key(case) for case in after.cases])
    for case in after.cases:
        asked = earlier[_key(case)].question
        if asked != case.question:
            raise DataError(
                f"{case.episode.id} is {asked[:80]!r} in {before.name} and {case.question[:80]!r} in {after.name}; "
                "compare runs of the same data"
            )
    return [(earlier[_key(case)], case) for case in after.cases]


def changed(pairs: Sequence[Pair]) -> list[Pair]:
    """Those that one run alone solved."""
    return [pair for pair in pairs if pair[0].failed != pair[1].failed]


def comparison(before: Run, after: Run, pairs: Sequence[Pair]) -> list[str]:
    """How many each run solved, the mean paired F1 difference, and a line for each question that changed sides."""
    lines = [f"{harmless(before.name)} → {harmless(after.name)}: the same {_count(len(pairs), 'episode')}"]
    if not pairs:
        return lines
    sides = Counter((one.failed, two.failed) for one, two in pairs)
    difference = _mean([_f1(two) - _f1(one) for one, two in sorted(pairs, key=lambda pair: _key(pair[1]))])
    lines.append(
        f"  solved    by both {sides[False, False]}, by {harmless(before.name)} only {sides[False, True]}, "
        f"by {harmless(after.name)} only {sides[True, False]}, by none {sides[True, True]}"
    )
    lines.append(f"  F1        {fmean(_f1(one) for one, _ in pairs):.3f} → {fmean(_f1(two) for _, two in pairs):.3f}")
    lines.append(f"  change    {_interval(difference, '+')}, paired")
    rows = [(harmless(two.episode.id), one.verdict, two.verdict, one, two) for one, two in changed(pairs)]
    width = max((len(row[0]) for row in rows), default=0)
    return lines + [
        f"  {id.ljust(width)}  {was:>13} {_f1(one):.2f} → {now:<13} {_f1(two):.2f}  {harmless(two.question, 80)}"
        for id, was, now, one, two in rows
    ]


def pair_lines(before: Run, after: Run, pair: Pair, chat: ChatFormat, colour: bool) -> list[str]:
    """One question in both runs, the traces one below the other."""
    lines = []
    for run, case in zip((before, after), pair, strict=True):
        lines += ["", f"{harmless(run.name)}: {_title(case)}", *described(case), "", *rendered(case, chat, colour)]
    return lines


def _title(case: Case) -> str:
    episode, score = case.episode, case.score
    attempt = f" attempt {episode.attempt}" if episode.attempt else ""
    scores = "" if score is None else f"  F1 {score.f1:.2f}  EM {score.em:.0f}"
    return f"{harmless(episode.id, SHORT)}{attempt}  {case.verdict}{scores}"


def _key(case: Case) -> str:
    return f"{case.episode.id}#{case.episode.attempt}" if case.episode.attempt else case.episode.id


def _by_id(cases: Sequence[Case]) -> list[Case]:
    # The order in which `score` takes them, so that the interval is that of the metrics file.
    return sorted(cases, key=_key)


def _f1(case: Case) -> float:
    return case.score.f1 if case.score else 0.0


def _mean(values: Sequence[float]) -> Estimate:
    return mean_intervals([values], resamples=RESAMPLES, confidence=CONFIDENCE, seed=SEED)[0]


def _interval(found: Estimate, sign: str = "") -> str:
    low, high = (format(bound, f"{sign}.3f") for bound in (found.low, found.high))
    return f"{format(found.mean, f'{sign}.3f')}, {CONFIDENCE:.0%} interval {low} to {high}"


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{harmless(str(word))} {count}" for word, count in Counter(words).most_common())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
