"""One rollout of the real Pi that does everything an agent can, and what is left of it in every place."""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from posttrain.euler.events import End, Escape, Execution, Inspection, Mutation
from posttrain.euler.proxy import server
from posttrain.euler.proxy.scripted import Script, Step
from posttrain.euler.proxy.wire import Message, Request
from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.agent.hosts import sha
from tests.euler.agent.pi import (
    PROMPT,
    SYSTEM,
    Overheard,
    Played,
    bash,
    calling,
    environment,
    pis,
    play,
    said,
    texts,
    write,
)
from tests.project import ROOT

SECRET, ANSWER = "sk-planted-in-our-environment", "731204455"
FIRST, SECOND = "print(41)\nprint('e' * 9)\n", "print(42)\nprint('e' * 9)\n"
PNG = "python3 -c \"open('p.png','wb').write(bytes.fromhex('89504e470d0a1a0a0000000d49484452'))\""
FLOOD = "for i in range(5000): print(f'{i:060d}')\n"
LOOK = "ls -laR . 2>&1; env; cat /proc/self/environ /proc/1/environ /proc/1/cmdline; cat /proc/self/mountinfo; ls /tmp"


@dataclass(frozen=True)
class Whole:
    """The rollout, what the proxy was sent, and Pi's environment while it ran."""

    played: Played
    bodies: list[bytes]
    requests: list[Request]
    environment: dict[str, str]


def script(found: dict[str, str]) -> Script:
    def look_at_pi(messages: Sequence[Message]) -> Step:
        del messages
        [pid] = pis()
        found.update(environment(pid))
        return bash("python3 main.py")

    return [
        write("main.py", FIRST),
        calling("edit", path="main.py", edits=[{"oldText": "print(41)", "newText": "print(42)"}]),
        calling("read", path="main.py"),
        look_at_pi,
        calling("read", path="given.txt"),
        write("flood.py", FLOOD),
        bash("python3 flood.py"),
        bash(LOOK),
        calling("read", path="/etc/passwd"),
        calling("read", path="\ud83d.txt"),
        calling("read"),
        calling("grep", pattern="x"),
        calling("edit", path="main.py", edits=[{"oldText": "nowhere", "newText": "x"}]),
        bash(PNG),
        calling("read", path="p.png"),
        bash("sleep 9", timeout=1),
        bash("echo a\0b"),
        Step("Both.", (("write", {"path": "two.py", "content": "print(2)"}), ("bash", {"command": "python3 two.py"}))),
        lambda messages: Step(f"It is {said(messages)}, \\boxed{{42}}."),
    ]


@pytest.fixture(scope="module")
def whole(bubblewrap: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder, bodies, found = tmp_path_factory.mktemp("rollout"), list[bytes](), dict[str, str]()
    parse = server.parse_request

    def kept(body: bytes) -> Request:
        bodies.append(body)
        return parse(body)

    completer = Overheard(script(found))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "parse_request", kept)
        patch.setenv("OPENAI_API_KEY", SECRET)
        patch.setenv("POSTTRAIN_ANSWER", ANSWER)
        played = play(bubblewrap, folder, completer, files={"given.txt": b"given"})
    return Whole(played, bodies, completer.requests, found)


def test_the_events_are_exactly_what_happened(whole: Whole) -> None:
    *events, end = whole.played.events
    runs = [event for event in events if isinstance(event, Execution)]
    assert [type(event).__name__ for event in events] == [
        "Mutation", "Mutation", "Inspection", "Execution", "Inspection", "Mutation", "Execution", "Execution", "Escape",
        "Inspection", "Mutation", "Execution", "Inspection", "Execution", "Execution", "Mutation", "Execution",
    ]  # fmt: skip
    assert events[:3] == [
        Mutation("write", "main.py", sha(FIRST), FIRST),
        Mutation("edit", "main.py", sha(SECOND), SECOND),
        Inspection("main.py", ok=True),
    ]
    argv, stdout = ("python3", "main.py"), f"42\n{'e' * 9}\n"
    assert runs[0] == Execution("python3 main.py", argv, 0, sha(SECOND), stdout, False, runs[0].seconds)
    assert events[8:11] == [
        Escape("absolute", "/etc/passwd"), Inspection("?.txt", ok=False), Mutation("edit", "main.py", None, None)
    ]  # fmt: skip
    assert [run.exit_code for run in runs] == [0, 0, 0, 0, 137, None, 0]
    assert isinstance(end, End)
    assert (end.stop, end.reply) == ("stop", "It is 2, \\boxed{42}.")
    assert end.tokens_in > end.tokens_out > 0


def test_pis_own_log_carries_what_the_host_saw(whole: Whole) -> None:
    events = whole.played.events
    seen = [result["details"]["host"] for result in whole.played.results if "host" in result.get("details", {})]
    hosts = [one for one in seen if one is not None]
    assert [one["event"] for one in hosts] == [number for number in range(len(events) - 1) if number != 8]
    for one in hosts:
        event = vars(events[one["event"]])
        assert one["kind"] == type(events[one["event"]]).__name__.lower()
        told = {key: value for key, value in one.items() if key not in ("event", "kind")}
        assert told == json.loads(json.dumps({key: event[key] for key in told}))
        assert {*event} - {*told} <= {"content", "stdout"}


def test_the_model_is_told_what_became_of_each_call(whole: Whole) -> None:
    told = [texts(result) for result in whole.played.results]
    assert told[2:5] == [SECOND, f"42\n{'e' * 9}\n", "given"]
    assert told[6].startswith("[only a part of the output is shown]\n")
    assert len(told[6].encode()) < 50 * 1024
    assert "'/etc/passwd' is refused: give a path below the workspace" in told[8]
    assert "cannot be read" in told[9]
    assert "must have required propert" in told[10]
    assert told[11] == "Tool grep not found"
    assert "timed out after 1 seconds" in told[15]
    assert told[16] == "a command cannot hold a zero byte"
    assert told[17:] == ["Successfully wrote 8 bytes to two.py", "2\n"]


def test_no_message_holds_a_path_of_the_host_a_secret_or_an_answer(whole: Whole) -> None:
    home, temporary = os.path.expanduser("~"), tempfile.gettempdir()
    hidden = [
        SECRET,
        ANSWER,
        str(ROOT),
        home + "/",
        whole.environment["HOME"],
        "posttrain-pi-",
        "pi-bash",
        "node_modules",
    ]
    hidden += [f"{ROOT.parent}/", f"{temporary}/p", os.uname().nodename, str(whole.played.logs.events.parent)]
    seen = b"".join(whole.bodies).decode() + json.dumps([row for row in whole.played.log if row["type"] != "session"])
    results = whole.played.results[7]
    assert "HOME=/workspace" in texts(results)
    assert [word for word in hidden if word in seen] == []
    assert "fullOutputPath" not in seen


def test_what_is_asked_is_ours_alone(whole: Whole) -> None:
    first = json.loads(whole.bodies[0])
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert [message.content for message in whole.requests[0].messages] == [SYSTEM, PROMPT]
    assert sorted(tool["function"]["name"] for tool in first["tools"]) == ["bash", "edit", "read", "write"]
    assert first["max_tokens"] == 4096
    assert "temperature" not in first
    system = [request.messages[0] for request in whole.requests]
    assert {(message.role, message.content) for message in system} == {("system", SYSTEM)}
    assert len(whole.requests) == 19


def test_pis_environment_is_made_for_it_and_gone_afterwards(whole: Whole) -> None:
    assert sorted(whole.environment) == sorted(
        ["PATH", "HOME", "TMPDIR", "LANG", "PI_CODING_AGENT_DIR", "PI_OFFLINE", "PI_TELEMETRY", "POSTTRAIN_HOST_FD"]
    )
    assert not Path(whole.environment["HOME"]).exists()
    assert pis() == []
    assert whole.played.logs.stderr.read_text() == ""
