import re
from pathlib import Path

import pytest

from posttrain.cli import main
from tests.wiki.corpora import PARAGRAPHS, built

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def index(place: Path) -> Path:
    return built(place / "data", [*PARAGRAPHS, ("Bad\x1b[2J\u202eman", f"evil \x00\x9b31m\n{'evil ' * 20_000}")])


@pytest.mark.usefixtures("index")
def test_hits_have_rank_score_and_title(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "English mathematician machine inventor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"  1  +\d\.\d{3}  Charles Babbage", lines[0])
    assert lines[1].strip().startswith("Charles Babbage was an English")
    assert re.fullmatch(r"  2  +\d\.\d{3}  Ada Lovelace", lines[2])
    assert re.fullmatch(r"5 paragraphs; load [\d.]+ ms, search [\d.]+ ms", lines[-1])
    assert len(lines) == 5
    main(["search", "English", "-k", "1"])
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("the of and", "the query holds only stop words, which match nothing"),
        ("", "the query holds no word of two or more letters"),
        ("\udcff ?!", "the query holds no word of two or more letters"),
        ("the zebra", "no paragraph holds any of its words, stop words aside"),
    ],
)
def test_a_query_that_finds_nothing_says_why(query: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", query]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"nothing found: {why}"


@pytest.mark.usefixtures("index")
def test_hostile_paragraphs_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "evil " * 20_000]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(letter.isprintable() for line in lines for letter in line)
    assert max(map(len, lines)) < 200


def test_without_an_index(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "Ada"]) == 1
    assert "run `dvc repro index`" in capsys.readouterr().err


@pytest.mark.parametrize("k", ["0", "-1", "x"])
def test_k_is_above_0(k: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["search", "Ada", "-k", k])
    assert f"above 0, is {k}" in capsys.readouterr().err
