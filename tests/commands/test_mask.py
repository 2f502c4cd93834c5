import re

import pytest

from posttrain.cli import main
from tests.wiki.fake_runs import EVIL, Play, misread, solved, write_run

pytestmark = pytest.mark.usefixtures("place")


def told(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["mask", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_every_token_has_a_line_and_the_counts_are_the_episode_s(capsys: pytest.CaptureFixture[str]) -> None:
    episode = misread("q1").episode
    lines = told(capsys, "test/a", "q1")
    before, rows = len(episode.prompt), [line.split() for line in lines[2:-1]]
    assert lines[0] == f"q1 of test/a, attempt 0: {len(episode.tokens)} tokens after a prompt of {before}"
    assert [int(row[0]) for row in rows] == list(range(before, before + len(episode.tokens)))
    assert [row[1] == "sampled" for row in rows] == [bool(flag) for flag in episode.sampled]
    assert sum(row[1] == "sampled" for row in rows) == episode.generated
    tokens = [int(next(cell for cell in row[2:] if cell.isdecimal())) for row in rows]
    assert tokens == episode.tokens
    assert rows[0] == [str(before), "sampled", "-0.5000", str(episode.tokens[0]), "'<'"]
    assert rows[-1][1:] == ["sampled", "control", "-0.5000", str(episode.tokens[-1]), "'<|im_end|>'"]
    inserted = len(episode.tokens) - episode.generated
    assert lines[-1] == (
        f"{episode.generated} sampled (2 of them control), {inserted} inserted (3 of them control); "
        f"the episode counts {episode.generated} generated"
    )


def test_the_prompt_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    episode = misread("q1").episode
    plain, full = told(capsys, "test/a", "q1"), told(capsys, "test/a", "q1", "--prompt")
    rows = [line.split() for line in full[2:-1]]
    assert [row[1] for row in rows[: len(episode.prompt)]] == ["prompt"] * len(episode.prompt)
    assert [int(row[0]) for row in rows] == list(range(len(episode.prompt) + len(episode.tokens)))
    assert [row.split() for row in plain[2:-1]] == rows[len(episode.prompt) :]
    assert full[-1] == plain[-1]


def test_hostile_and_broken_letters_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("evil", [Play(f"q{EVIL}", f"{EVIL} 🙂 \u2028 x"), Play("flood", "x" * 20_000)])
    lines = told(capsys, "evil", f"q{EVIL}")
    assert all(letter.isprintable() for line in lines for letter in line)
    assert any(line.endswith("  …") for line in lines)
    assert any("🙂'" in line for line in lines)
    assert max(map(len, told(capsys, "evil", "flood"))) < 200


def test_attempts(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("collect", [solved("q1", attempt=2), misread("q1", attempt=0)], scored=False)
    assert told(capsys, "collect", "q1")[0].startswith("q1 of collect, attempt 0: ")
    assert told(capsys, "collect", "q1", "--attempt", "2")[0].startswith("q1 of collect, attempt 2: ")
    assert main(["mask", "collect", "q1", "--attempt", "1"]) == 1
    assert "no attempt 1 at q1; there is --attempt 0, 2" in capsys.readouterr().err


def test_an_unknown_id_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("near", [solved("mini-000033"), solved("mini-000034"), solved("x")])
    assert main(["mask", "near", "mini-00034"]) == 1
    assert "no episode 'mini-00034'; did you mean mini-000034 or mini-000033?" in capsys.readouterr().err


def test_flags_that_do_not_add_up_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("odd", [solved("q1", changes={"generated": 3})])
    assert main(["mask", "odd", "q1"]) == 1
    assert re.search(r"q1 says that 3 tokens were generated, and \d+ are flagged", capsys.readouterr().err)
