"""`posttrain ask` in a project of its own: the tiny model, a small index, and replies put into the sample store."""

import asyncio
import io
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from posttrain.cli import main
from posttrain.engine.settings import EngineSettings
from posttrain.files import write_json
from posttrain.ledger.places import samples_path
from posttrain.ledger.store import Sample, SampleKey
from posttrain.rollout.loop import Sampled, run_episode
from posttrain.rollout.policy import Drawing
from posttrain.settings import load
from posttrain.terminal import JOINERS, harmless, say
from posttrain.train.checkpoint import base_checkpoint, write_checkpoint
from posttrain.wiki.environment import HarnessSettings, ResearchEnvironment
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import open_session, prompt_text
from tests.policy import ScriptedPolicy
from tests.project import MODELS, ROOT
from tests.wiki.corpora import built

QUESTION = "Which river runs through the birthplace of Ada Holm?"
PARAGRAPHS = [
    ("Ada Holm", "Ada Holm was born in Vik."),
    ("Vik", "Vik lies on the river Orla."),
    ("Bad\x1b[2J\u202eman", "Evil\x00 text\x9b31m of\r\n Bad\u2066man\x07\u2028."),
]
EVIL = "\x1b]0;owned\x07\u202egnp\x00\x9b31m"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Holds the smallest project that can answer, with settings, prompt, index and untrained model, and its cache."""
    folder = tmp_path_factory.mktemp("ask")
    root, own_cache = folder / "place", folder / "cache"
    built(root / "data", PARAGRAPHS)
    shutil.copytree(ROOT / "prompts", root / "prompts")
    shutil.copy(ROOT / "profiles/smoke.yaml", root / "params.yaml")
    (root / "dvc.yaml").write_text("stages: {}\n")
    MODELS.mkdir(parents=True, exist_ok=True)
    own_cache.mkdir()
    (own_cache / "models").symlink_to(MODELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("POSTTRAIN_CACHE", str(own_cache))
        with open_session(load("engine", EngineSettings)) as session:
            write_checkpoint(session.engine, base_checkpoint(session.engine), Path("models/base"))
        yield folder


@pytest.fixture
def place(made: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that project, as the working directory."""
    shutil.copytree(made / "place", tmp_path / "place")
    shutil.copytree(made / "cache", cache, symlinks=True)
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"


def remember(replies: Sequence[str], question: str = QUESTION, cut: int | None = None) -> None:
    """Stores an episode's replies as the policy's own, where `ask` will look for them."""

    async def play() -> None:
        harness = load("harness", HarnessSettings)
        with open_session(load("engine", EngineSettings)) as session, open_search() as search:
            drawing = Drawing(harness.max_tokens, 0.0, 0, (session.chat.end,))
            scripted = ScriptedPolicy(session.chat, replies, cut=cut)

            async def sample(prompt: list[int]) -> Sampled:
                reply = await scripted(prompt)
                key = SampleKey(session.engine.base_lineage, prompt, drawing.name, 0, 0)
                session.store.put(key, Sample(reply.tokens, reply.logprobs or [], reply.stop_reason, 3))
                return reply

            research = ResearchEnvironment(question, search, prompt_text("research"), harness)
            await run_episode(sample, research, session.chat, id="q", attempt=0)

    asyncio.run(play())


def change(section: str, **values: Any) -> None:
    params = yaml.safe_load(Path("params.yaml").read_text())
    params[section].update(values)
    Path("params.yaml").write_text(yaml.safe_dump(params))


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one error line of `ask`, before which nothing was printed as a result."""
    assert main(["ask", *words]) == 1
    out, errors = capsys.readouterr()
    lines = [line for line in errors.splitlines() if not line.startswith("asking ")]
    assert out == ""
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.usefixtures("place")
def test_searches_and_sources_are_told_then_answer_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    remember(["<search>Ada Holm birthplace</search>", "<search>Vik river</search>", "<answer>Orla</answer>"])
    assert main(["ask", QUESTION]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:6] == [
        "search 1: Ada Holm birthplace",
        "  [Ada Holm] Ada Holm was born in Vik.",
        "search 2: Vik river",
        "  [Vik] Vik lies on the river Orla.",
        "  [Ada Holm] Ada Holm was born in Vik.",
        "answer: Orla",
    ]
    assert told[6].startswith("ended: answer; 3 replies, ")
    assert "9 of them cached" in told[6]
    assert told[6].endswith("all of it from the sample store, 0 USD")
    assert len(told) == 7


@pytest.mark.usefixtures("place")
def test_hostile_text_of_model_and_corpus_is_made_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    remember([f"<search>Bad {EVIL}</search>", f"<answer>{EVIL} x</answer>"])
    assert main(["ask", QUESTION]) == 0
    out, errors = capsys.readouterr()
    told = out.splitlines()
    assert [line.split(":")[0].split("]")[0] for line in told] == ["search 1", "  [Bad�[2J�man", "answer", "ended"]
    assert all(letter.isprintable() for line in told + errors.splitlines() for letter in line)


@pytest.mark.parametrize(
    ("replies", "cut", "end", "why"),
    [
        (["I do not know."], None, "no_action", "neither a search nor an answer: I do not know."),
        (["<search>Vik</search>", "and on and on"], 1, "length", "harness.max_tokens (24): and on and on"),
        (["<search>Vik</search>"] * 3, None, "budget", "harness.max_searches (2): <search>Vik</search>"),
        (["<search></search>", ""], None, "no_action", "neither a search nor an answer: (empty)"),
    ],
)
@pytest.mark.usefixtures("place")
def test_an_episode_without_an_answer_says_why(
    replies: list[str], cut: int | None, end: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    remember(replies, cut=cut)
    assert main(["ask", QUESTION]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[-2].startswith("no answer: ")
    assert told[-2].endswith(why)
    assert told[-1].startswith(f"ended: {end}; ")
    if replies[0] == "<search></search>":
        assert told[:2] == ["search 1: (empty)", "  nothing found"]


@pytest.mark.usefixtures("place")
def test_what_is_not_stored_is_sampled_once(capsys: pytest.CaptureFixture[str]) -> None:
    def samples() -> int:
        with sqlite3.connect(samples_path()) as connection:
            return int(connection.execute("SELECT count(*) FROM samples").fetchone()[0])

    main(["ask", QUESTION])
    first, drawn = capsys.readouterr().out, samples()
    assert drawn >= 1
    assert first.endswith("s, 0.0000 USD\n")
    main(["ask", QUESTION, "--policy", "models/base"])
    again = capsys.readouterr().out
    assert again.endswith("all of it from the sample store, 0 USD\n")
    assert again.splitlines()[:-1] == first.splitlines()[:-1]
    assert samples() == drawn


@pytest.mark.usefixtures("place")
def test_a_question_in_broken_letters_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "Who wrote \udcff\x00?"]) in (0, 1)
    assert "ended: " in capsys.readouterr().out


def test_it_works_from_a_folder_below(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remember(["<answer>Orla</answer>"])
    monkeypatch.chdir(place / "prompts")
    assert main(["ask", QUESTION, "--policy", "../models/base"]) == 0
    assert capsys.readouterr().out.startswith("answer: Orla\n")


@pytest.mark.parametrize("question", ["", " \n\t", "\u200b\u202e", "?!"])
def test_a_question_without_a_word_is_refused(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "posttrain ask " in refusal(capsys, question)


@pytest.mark.parametrize(
    ("gone", "advice"),
    [
        ("params.yaml", "`posttrain use mini`"),
        ("data/index", "`dvc repro index`"),
        ("data/prep/corpus.jsonl", "`dvc checkout`"),
        ("models", "`dvc repro choose_grpo`"),
        ("prompts/research.md", "git has the others"),
        ("dvc.yaml", "change to the project's directory"),
    ],
)
def test_what_is_missing_is_named_with_what_brings_it_back(
    gone: str, advice: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / gone).rename(place / "elsewhere")
    assert advice in refusal(capsys, QUESTION)


@pytest.mark.usefixtures("place")
def test_a_policy_that_does_not_fit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere holds no checkpoint.json" in refusal(capsys, QUESTION, "--policy", "nowhere")
    Path("models/base/checkpoint.json").write_text('{"kind": "sampler"}')
    assert "is not a checkpoint" in refusal(capsys, QUESTION)
    saved = {"sampler": "tinker://r/sampler_weights/a", "state": "tinker://r/weights/a"}
    write_json(Path("models/base/checkpoint.json"), {"lineage": "a", "label": "b", "saved": saved})
    assert "saved by engine tinker, and engine.name is local" in refusal(capsys, QUESTION)


@pytest.mark.usefixtures("place")
def test_another_model_than_the_checkpoints_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    change("engine", dtype="bfloat16")
    assert "engine.dtype" in refusal(capsys, QUESTION)


@given(st.text())
def test_harmless_text_is_one_line_that_moves_nothing(text: str) -> None:
    shown = harmless(text)
    assert all(letter.isprintable() or letter in JOINERS for letter in shown)
    assert harmless(shown) == shown
    assert len(harmless(text, 10)) <= 12


def test_letters_that_the_output_cannot_hold_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    say("Café Müller")
    assert raw.getvalue() == b"Caf? M?ller\n"


@pytest.mark.usefixtures("place")
def test_a_reader_that_leaves_early_is_no_error() -> None:
    remember(["<search>Vik river</search>", "<answer>Orla</answer>"])
    code = "import sys; from posttrain.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "ask", QUESTION], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate(timeout=120)[1] == "asking models/base\n"
    assert process.returncode == 1
