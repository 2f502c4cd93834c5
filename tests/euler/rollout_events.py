"""Events as the host would write them, for tests."""

import hashlib

from posttrain.euler.events import End, Event, Execution, Mutation

SOURCE = "print(sum(range(10)))\n"
ANSWER = "45"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def wrote(path: str = "solution.py", source: str = SOURCE) -> Mutation:
    return Mutation("write", path, sha(source), source)


def ran(
    command: str = "python3 solution.py",
    *,
    source: str | None = SOURCE,
    exit_code: int | None = 0,
    stdout: str = f"{ANSWER}\n",
    argv: tuple[str, ...] | None = None,
    stdout_cut: bool = False,
) -> Execution:
    words = tuple(command.split()) if argv is None else argv
    digest = None if source is None else sha(source)
    return Execution(command, words, exit_code, digest, stdout, stdout_cut, 0.1)


def end(reply: str = f"The sum is {ANSWER}.", tokens_in: int = 100, tokens_out: int = 20, seconds: float = 2.0) -> End:
    return End("stop", reply, tokens_in, tokens_out, seconds)


def good() -> list[Event]:
    return [wrote(), ran(), end()]
