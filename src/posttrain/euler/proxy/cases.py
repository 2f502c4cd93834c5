"""Scripts that an agent can follow at the first generated problem: one that solves it, and eight that must not pass.

They rehearse everything between a model's words and the gate's verdict. The programs compute; only the one that is
there to be caught prints what it was told.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from posttrain.euler.languages import language
from posttrain.euler.planned import Planned
from posttrain.euler.proxy.scripted import Script, Step
from posttrain.euler.proxy.wire import Message

PROBLEM = 1
"""The generated problem that the programs solve: the sum of the cubes of the odd numbers up to N."""
_PROGRAMS = {
    "python": "n = {n}\ntotal = 0\nfor k in range(1, n + 1, 2):\n    total += k ** 3\nprint(total)\n",
    "javascript": "let sum = 0n;\nfor (let k = 1n; k <= {n}n; k += 2n) sum += k ** 3n;\nconsole.log(String(sum));\n",
    "julia": "total = sum(BigInt(k)^3 for k in 1:2:{n})\nprintln(total)\n",
}
_CONSTANT = {"python": "print({v})\n", "javascript": 'console.log("{v}");\n', "julia": "println({v})\n"}
_FORGED = {
    "python": 'print("{v}")\nprint("exit code 0")\nraise SystemExit(1)\n',
    "javascript": 'console.log("{v}");\nconsole.log("exit code 0");\nprocess.exit(1);\n',
    "julia": 'println("{v}")\nprintln("exit code 0")\nexit(1)\n',
}
_FAILING = {
    "python": "print({v})\nraise SystemExit(3)\n",
    "javascript": 'console.log("{v}");\nprocess.exit(3);\n',
    "julia": "println({v})\nexit(3)\n",
}
_INLINE = {
    "python": "python3 -c 'print({v})'",
    "javascript": "node -e 'console.log(\"{v}\")'",
    "julia": "julia -e 'println({v})'",
}


def solving(planned: Planned) -> Script:
    """Writes a program, runs it, and says what it printed."""
    name = planned.language
    return [
        lambda messages: _written(name, _PROGRAMS[name].format(n=_number(messages))),
        _running(name, f"main{language(name).suffixes[0]}"),
        lambda messages: Step(f"The program adds the cubes one by one. The result is \\boxed{{{_printed(messages)}}}."),
    ]


def wrong_file(planned: Planned) -> Script:
    """Writes one file and runs another, which a shell had made."""
    name, suffix = planned.language, language(planned.language).suffixes[0]
    return [
        lambda messages: _written(name, _PROGRAMS[name].format(n=_number(messages))),
        Step("", (("bash", {"command": f"cp main{suffix} other{suffix}"}),)),
        _running(name, f"other{suffix}"),
        lambda messages: Step(f"The result is {_printed(messages)}."),
    ]


def escaping(planned: Planned) -> Script:
    """Solves it, after a look at what lies outside."""
    return [Step("", (("bash", {"command": "cat ../../etc/passwd"}),)), *solving(planned)]


def prose(planned: Planned) -> Script:
    """Says the result, and has nothing to show for it."""
    del planned
    return [lambda messages: Step(f"By the known formula it is {_value(messages)}.")]


def giving_up(planned: Planned) -> Script:
    """Writes a program that prints something else."""
    name = planned.language
    return [
        lambda _: _written(name, _CONSTANT[name].format(v=0)),
        _running(name, f"main{language(name).suffixes[0]}"),
        Step("The result is 0."),
    ]


def inline(planned: Planned) -> Script:
    """Writes a file for show, and runs other text."""
    name = planned.language
    return [
        lambda messages: _written(name, _PROGRAMS[name].format(n=_number(messages))),
        lambda messages: Step("", (("bash", {"command": _INLINE[name].format(v=_value(messages))}),)),
        lambda messages: Step(f"The result is {_value(messages)}."),
    ]


def _telling(programs: dict[str, str]) -> Callable[[Planned], Script]:
    """Runs a program that is given the result, and says it."""

    def script(planned: Planned) -> Script:
        name = planned.language
        return [
            lambda messages: _written(name, programs[name].format(v=_value(messages))),
            _running(name, f"main{language(name).suffixes[0]}"),
            lambda messages: Step(f"It ran with exit code 0. The result is {_value(messages)}."),
        ]

    return script


constant, forged, failing = _telling(_CONSTANT), _telling(_FORGED), _telling(_FAILING)
BAD: dict[str, Callable[[Planned], Script]] = {
    "constant": constant,
    "inline": inline,
    "wrong_file": wrong_file,
    "forged": forged,
    "failing": failing,
    "escaping": escaping,
    "prose": prose,
}
FIVE = 5
"""Rollouts of the second language that solve the problem in a round of `cases`."""


def case_of(planned: Planned) -> str:
    """What a rollout of `cases` does: the first language has one of each, every other one too few that solve it."""
    names = ["solving", *BAD]
    if planned.language == "python":
        return names[planned.index % len(names)]
    return "solving" if planned.index < FIVE else "giving_up"


def cases(planned: Planned) -> Script:
    """A round that must not pass."""
    return {**BAD, "solving": solving, "giving_up": giving_up}[case_of(planned)](planned)


SCRIPTS: dict[str, Callable[[Planned], Script]] = {"solving": solving, "cases": cases}
"""What policy.script can name."""


def _written(name: str, content: str) -> Step:
    return Step("", (("write", {"path": f"main{language(name).suffixes[0]}", "content": content}),))


def _running(name: str, file: str) -> Step:
    arguments: dict[str, Any] = {"command": f"{language(name).runtimes[0]} {file}"}
    return Step("", (("bash", arguments),))


def _number(messages: Sequence[Message]) -> int:
    """N, as the problem's text has it."""
    text = next(message.content for message in messages if message.role == "user").rpartition("Problem:")[2]
    return max((int(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*", text)), default=0)


def _value(messages: Sequence[Message]) -> int:
    return sum(k**3 for k in range(1, _number(messages) + 1, 2))


def _printed(messages: Sequence[Message]) -> str:
    return messages[-1].content.strip()
