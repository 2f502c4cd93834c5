"""Whether a final reply states a value, and whether it is boxed."""

import re

_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:,|\{,\})\d{2,3})*(?:,|\{,\})\d{3}(?![\d,]*\d)")
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")


def states(reply: str, expected: str) -> bool:
    """Whether `expected` stands in the reply as a value of its own, not as a part of a longer number or word.

    Commas that group the digits of a number are left out of both first.
    """
    bare = without_commas(expected)
    wanted = re.escape(bare)
    # A minus directly before a number belongs to it, unless it joins two numbers or words.
    before = r"(?<![A-Za-z0-9])(?<![0-9][.,])(?<!-)(?<!\u2212)" if not bare.startswith("-") else r"(?<![A-Za-z0-9])"
    pattern = re.compile(rf"{before}{wanted}(?![A-Za-z0-9])(?![.,][0-9])")
    text = without_commas(reply).replace("\u2212", "-") if bare.startswith("-") else without_commas(reply)
    return pattern.search(text) is not None


def boxed(reply: str, expected: str) -> bool:
    """Whether the last `\\boxed{…}` of the reply holds `expected`, commas left out of both."""
    found = _BOXED.findall(reply)
    return bool(found) and without_commas(found[-1].strip()) == without_commas(expected)


def without_commas(text: str) -> str:
    """The text with `1,234,567` as `1234567`; commas that part the items of a list stay."""
    return _GROUPED.sub(lambda match: re.sub(r"[{},]", "", match[0]), text)
