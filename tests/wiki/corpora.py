"""Small corpora and indexes for the tests of build and search."""

import json
from pathlib import Path

from posttrain.files import write_jsonl
from posttrain.wiki.index import build
from posttrain.wiki.index_settings import IndexSettings

HOTPOT = Path(__file__).resolve().parents[3] / "shared" / "data" / "hotpot"
SETTINGS = IndexSettings(k1=1.5, b=0.75)

PARAGRAPHS = [
    ("Ada Lovelace", "Ada Lovelace was an English mathematician who wrote about computing machines."),
    ("Charles Babbage", "Charles Babbage was an English mathematician and the inventor of a computing machine."),
    ("Turin", "Turin is a city in northern Italy, known for chocolate and for its motor industry."),
    ("Café Müller", "Café Müller is a dance piece by Pina Bausch, set in a café."),
]


def write_paragraphs(path: Path, paragraphs: list[tuple[str, str]]) -> Path:
    write_jsonl(path, ({"id": n, "title": title, "text": text} for n, (title, text) in enumerate(paragraphs)))
    return path


def built(root: Path, paragraphs: list[tuple[str, str]], settings: IndexSettings = SETTINGS, workers: int = 1) -> Path:
    """An index at `root/index` beside its corpus `root/prep/corpus.jsonl`, as the pipeline lays them out."""
    build(write_paragraphs(root / "prep" / "corpus.jsonl", paragraphs), root / "index", settings, workers)
    return root / "index"


def contents(index: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(index.iterdir())}


def titles(hits: object) -> list[str]:
    return [hit["title"] for hit in json.loads(json.dumps(hits))]
