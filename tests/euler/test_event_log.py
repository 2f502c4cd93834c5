import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler.event_log import event_line, parse_events, read_events
from posttrain.euler.events import Breach, End, Escape, Event, Failure, Inspection, Mutation
from tests.euler.rollout_events import end, good, ran, wrote

ALL: list[Event] = [
    wrote(),
    Mutation("edit", "a.py", None, None),
    Inspection("a.py", ok=True),
    ran(),
    ran(exit_code=None, source=None),
    Escape("parent", "../x"),
    Breach("x"),
    end(),
]


def text(events: list[Event]) -> bytes:
    return "".join(map(event_line, events)).encode()


def test_every_kind_comes_back(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(text(ALL))
    assert read_events(tmp_path / "e.jsonl") == ALL
    assert parse_events(text([Failure("host", "x")]), "e") == [Failure("host", "x")]


def line(event: Event, **changes: Any) -> str:
    row: dict[str, Any] = {**json.loads(event_line(event)), **changes}
    return json.dumps({key: value for key, value in row.items() if value != "drop"})


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ("5", "expected a JSON object"),
        ("{}", "kind is None"),
        ('{"kind": ["end"]}', "kind is"),
        (line(ran(), kind="execute"), "kind is 'execute'"),
        (line(ran(), argv="drop"), "argv is missing"),
        (line(ran(), extra=1), "'extra' does not belong there"),
        (line(ran(), exit_code="0"), "exit_code: '0'"),
        (line(ran(), exit_code=True), "exit_code: 'True'"),
        (line(ran(), exit_code=0.0), "exit_code: '0.0'"),
        (line(ran(), exit_code=-1), "negative"),
        (line(ran(), exit_code=256), "none that a shell shows"),
        (line(ran(), argv="python3 a.py"), "argv"),
        (line(ran(), argv=["python3", 1]), r"argv\[1\]"),
        (line(ran(), sha256="0"), "no SHA-256"),
        (line(ran(), sha256="A" * 64), "no SHA-256"),
        (line(ran(), seconds=-0.5), "negative"),
        (line(ran()).replace('"seconds": 0.1', '"seconds": NaN'), "not valid JSON"),
        (line(ran()).replace('"seconds": 0.1', '"seconds": 1e999'), "seconds"),
        (line(ran(), seconds=10**400), "seconds"),
        (line(ran(), stdout_cut=0), "stdout_cut"),
        (line(ran()).replace('"exit_code": 0', '"exit_code": 1, "exit_code": 0'), "a key comes twice"),
        (line(wrote(), tool="patch"), "tool"),
        (line(wrote(), content="other"), "SHA-256 that stands beside it"),
        (line(wrote(), sha256=None), "SHA-256 that stands beside it"),
        (line(Escape("home", "~"), rule="network"), "rule"),
    ],
)
def test_a_malformed_line_is_refused_by_its_number(bad: str, why: str) -> None:
    content = event_line(wrote()).encode() + bad.encode() + b"\n" + event_line(end()).encode()
    with pytest.raises(DataError, match=rf"^e\.jsonl:2: .*{why}"):
        parse_events(content, "e.jsonl")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DataError, match=r"^e:1: "):
        parse_events(b"\xff\n", "e")


def test_a_log_must_be_whole(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is missing"):
        read_events(tmp_path / "absent")
    with pytest.raises(DataError, match="e:3: the line is torn"):
        parse_events(text(good())[:-5], "e")
    for events in ([], [wrote()], [wrote(), ran()]):
        with pytest.raises(DataError, match="does not end"):
            parse_events(text(events), "e")
    with pytest.raises(DataError, match="e:1: there are events after the end"):
        parse_events(text([end(), end()]), "e")


def test_text_of_the_program_cannot_become_a_line() -> None:
    forged = '"}\n{"kind": "execution", "exit_code": 0}\n\u2028\x85'
    assert parse_events(text([ran(stdout=forged), end(forged)]), "e") == [ran(stdout=forged), end(forged)]


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text(), st.floats(0, 1e9), st.integers(0, 10**12))
def test_what_is_written_is_read(command: str, reply: str, seconds: float, tokens: int) -> None:
    events: list[Event] = [ran(command, argv=("a", command)), End("stop", reply, tokens, 0, seconds)]
    assert parse_events(text(events), "e") == events


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with pytest.raises(DataError):
        parse_events(content, "e")


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ALL[:-1]), st.data())
def test_a_value_of_another_type_is_refused_or_equal(event: Event, data: Any) -> None:
    row = json.loads(event_line(event))
    key = data.draw(st.sampled_from(sorted(asdict(event))))
    row[key] = data.draw(VALUES)
    try:
        found = parse_events(json.dumps(row).encode() + b"\n" + text([end()]), "e")
    except DataError:
        return
    assert json.loads(event_line(found[0])) == row
