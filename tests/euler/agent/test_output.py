"""No output of a program may reach the sizes at which Pi keeps it in a file of its machine and names that file."""

from hypothesis import given
from hypothesis import strategies as st

from posttrain.euler.agent.output import shown

PI_BYTES, PI_LINES = 50 * 1024, 2000
PIECES = st.sampled_from(
    ["", "a", "\n", "é", "🙂", "x" * 999, "\n" * 700, "🙂" * 5000, "line\n" * 1200, "\r\n", "\ufffd"]
)
TEXT = st.lists(PIECES, max_size=40).map("".join)


@given(TEXT, TEXT, st.booleans())
def test_it_stays_below_pis_limits_and_says_what_is_left_out(stdout: str, stderr: str, cut: bool) -> None:
    text = shown(stdout, stderr, cut)
    assert len(text.encode()) + 200 < PI_BYTES  # room for what host and Pi add
    assert len(text.split("\n")) + 10 < PI_LINES
    body = text.removeprefix("[only a part of the output is shown]\n")
    joint = stdout + ("\n" if stdout and stderr and not stdout.endswith("\n") else "") + stderr
    assert joint.endswith(body)
    assert (body != text) == (cut or body != joint)


def test_the_end_of_a_long_output_is_kept() -> None:
    assert shown("first\n" + "x" * 60_000 + "\nlast\n", "", False).endswith("x\nlast\n")
    assert "first" not in shown("first\n" + "x\n" * 1500, "", False)
    assert shown("out", "err\n", False) == "out\nerr\n"
