"""What of a program's output the model is shown."""

MOST_BYTES, MOST_LINES = 40_000, 1_500
"""Below Pi's limits of 50 KiB and 2,000 lines: past those it keeps the whole in a file of its machine, and names it."""


def shown(stdout: str, stderr: str, cut: bool) -> str:
    """The end of stdout and stderr together, with a line in front of it if something is left out."""
    joint = stdout if not stderr else f"{stdout}\n{stderr}" if stdout and not stdout.endswith("\n") else stdout + stderr
    lines = joint.split("\n")
    text = "\n".join(lines[-MOST_LINES:])
    content = text.encode("utf-8", "replace")
    if len(content) > MOST_BYTES:
        text = content[-MOST_BYTES:].decode("utf-8", "ignore")
    left_out = cut or len(text) < len(joint)
    return f"[only a part of the output is shown]\n{text}" if left_out else text
