"""The six arms on the same test questions, with intervals and paired differences."""

from pathlib import Path

from posttrain import station
from posttrain.files import read_jsonl, sha256_file, write_json, write_text
from posttrain.ledger.places import samples_path
from posttrain.ledger.store import SampleStore
from posttrain.settings import load
from posttrain.wiki.ablation import ARMS, compare, markdown_table
from posttrain.wiki.ablation_settings import AblationSettings
from posttrain.wiki.questions import PREP


def main() -> None:
    test_hash = sha256_file(PREP / "test.jsonl")
    arms = {arm: list(read_jsonl(Path(f"runs/test/{arm}/scored.jsonl"))) for arm in ARMS}
    with SampleStore(samples_path()) as store:
        opened = store.count_openings(test_hash)
    result = compare(arms, load("ablation", AblationSettings), {"test_sha256": test_hash, "test_opened": opened})
    write_json(Path("metrics/ablation.json"), result)
    write_text(Path("metrics/ablation.md"), markdown_table(result) + "\n")


if __name__ == "__main__":
    station.run("ablation", main)
