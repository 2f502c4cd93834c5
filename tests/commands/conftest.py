from pathlib import Path

import pytest

from tests.wiki.fake_runs import bad_query, make_place, misread, solved, tokenizer, write_run


@pytest.fixture
def place(tmp_path: Path, cache: Path, converted: None, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """A project with two runs over the same five questions, as the working directory; its tokenizer is read once."""
    root = tmp_path / "place"
    make_place(root, cache)
    monkeypatch.setattr("posttrain.wiki.chat.load_tokenizer", tokenizer)
    monkeypatch.chdir(root)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    write_run("test/a", [misread("q1"), solved("q2"), misread("q3"), bad_query("q4"), solved("q5")])
    write_run("test/b", [solved("q1"), misread("q2"), solved("q3"), bad_query("q4"), solved("q5")])
    return root
