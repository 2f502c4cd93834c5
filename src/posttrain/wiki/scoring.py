"""The scoring station of an arm: stored episodes in, scored rows and metrics out."""

from pathlib import Path

from posttrain.errors import DataError
from posttrain.files import read_jsonl, write_json, write_jsonl
from posttrain.ledger.price import PriceSettings
from posttrain.wiki.questions import gold, questions
from posttrain.wiki.summary import scored_row, summary


def score_run(run: Path, split: str, metrics: Path, prices: PriceSettings, searched: bool) -> None:
    """Scores `run/episodes.jsonl` against a split; writes `run/scored.jsonl` and the metrics file.

    Raises:
        DataError: an episode answers a question that the split does not have.
    """
    by_id = {row["id"]: row for row in questions(split)}
    titles = gold()
    rows = []
    for episode in read_jsonl(run / "episodes.jsonl"):
        question = by_id.get(episode["id"])
        if question is None:
            raise DataError(f"{run}/episodes.jsonl answers {episode['id']}, which is not in {split}; run `dvc repro`")
        rows.append(scored_row(episode, question, titles[episode["id"]]["titles"], prices, searched))
    write_jsonl(run / "scored.jsonl", rows)
    write_json(metrics, summary(rows))
