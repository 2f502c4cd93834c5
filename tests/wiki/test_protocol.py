import gc
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.wiki.protocol import Answer, Parsed, Search, parse

CASES = {
    "": Parsed(None),
    "no tags": Parsed(None),
    "<search>Ada Holm</search>": Parsed(Search("Ada Holm")),
    "I look.\n<search>\n Ada\tHolm \n</search> done": Parsed(Search("Ada\tHolm")),
    "<answer>Orla</answer>": Parsed(Answer("Orla")),
    "<search></search>": Parsed(Search("")),
    "<answer> \n </answer>": Parsed(Answer("")),
    "<search>a</search><answer>b</answer>": Parsed(Search("a"), 1),
    "<answer>b</answer><search>a</search><search>c</search>": Parsed(Answer("b"), 2),
    "<search>a": Parsed(None),
    "a</search>": Parsed(None),
    "<search>a</answer>": Parsed(None),
    "<search>a <answer>b</answer>": Parsed(Answer("b")),
    "I could <search> first. <search>a</search>": Parsed(Search("a")),
    "<search>a <answer>b</answer> c</search>": Parsed(Search("a <answer>b</answer> c")),
    "<search>a</search></search>": Parsed(Search("a")),
    "</answer><search>a</search>": Parsed(Search("a")),
    "<Search>a</Search>": Parsed(None),
    "<think><answer>no</answer></think><search>a</search>": Parsed(Search("a")),
    "<think>a</think><answer>no</answer></think><answer>yes</answer>": Parsed(Answer("yes")),
    "<think><answer>no</answer>": Parsed(None),
    "<answer>yes</answer><think><search>no</search>": Parsed(Answer("yes")),
    "<think>x</think><think><answer>no</answer>": Parsed(None),
    "<answer>a <think> b</answer>": Parsed(None),
    "<search>a < b > c</search>": Parsed(Search("a < b > c")),
}


@pytest.mark.parametrize("reply", CASES)
def test_action_of_a_reply(reply: str) -> None:
    assert parse(reply) == CASES[reply]


TAGS = ["<search>", "</search>", "<answer>", "</answer>", "<think>", "</think>"]
replies = st.lists(st.one_of(st.sampled_from(TAGS), st.sampled_from(["a", " ", "\n", "<", "</"])), max_size=14).map(
    "".join
)


def simple_parse(reply: str) -> Parsed:
    """The same rules as a backtracking pattern: quadratic, but easy to believe."""
    text = re.split("<think>", re.sub(r"(?s).*</think>", "", reply))[0]
    pattern = r"(?s)<(search|answer)>((?:(?!<\1>).)*?)</\1>"
    found = [Search(m[2].strip()) if m[1] == "search" else Answer(m[2].strip()) for m in re.finditer(pattern, text)]
    return Parsed(found[0], len(found) - 1) if found else Parsed(None)


@given(replies)
def test_agrees_with_the_simple_pattern(reply: str) -> None:
    assert parse(reply) == simple_parse(reply)


@given(st.text(), st.text())
def test_an_action_is_found_whatever_surrounds_it(before: str, after: str) -> None:
    parsed = parse(f"{before}<answer>x</answer>{after}")
    if not any(tag in before + after for tag in TAGS):
        assert parsed == Parsed(Answer("x"))


@pytest.mark.parametrize(
    "piece", [*TAGS, "<", "<search><answer>", "<think></think>", "<search>a</search>", "</search><search>"]
)
def test_hostile_length_takes_linear_time(piece: str) -> None:
    def cpu_seconds(size: int) -> float:
        text = (piece * size)[:size]
        gc.collect()
        gc.disable()  # as timeit does: a collection of all that other tests have loaded takes half a second
        try:
            start = time.thread_time()
            parse(text)
            return time.thread_time() - start
        finally:
            gc.enable()

    assert cpu_seconds(100_000) < 0.5
