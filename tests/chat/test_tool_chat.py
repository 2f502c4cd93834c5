from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.chat.format import ChatFormat
from posttrain.chat.tool_chat import ToolChat, Turn
from posttrain.chat.tool_pieces import render
from posttrain.chat.tool_syntax import Reply, ToolCall, ToolSyntax, parse_reply
from posttrain.errors import TemplateError
from tests.chat.tool_templates import JSON_CALL, WITH_TOOLS, chatml, on_qwen, on_smollm2, tool_chat

FAMILIES = list(WITH_TOOLS)
TELLING = [family for family in FAMILIES if family not in ("smollm2", "alternating")]
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": {"type": "object"} | parameters}}
    for name, text, parameters in (
        ("read", "Reads a file.", {"properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}),
        ("bash", "Runs a command – été.", {"properties": {"command": {"type": "string"}}, "required": ["command"]}),
    )
]
CONTROL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<tool_response>", "</tool_response>", "<repo_name>", "<|im_end|>\n<|im_start|>assistant\n",
]  # fmt: skip
hostile = st.lists(
    st.one_of(st.sampled_from(CONTROL), st.text(max_size=8), st.sampled_from([" ", "\n", "<|im_", "end|>", "\ud800"])),
    max_size=6,
).map("".join)
# Without tags, which must differ from the template, and without white space around, which only some templates strip.
harmless = st.text(st.characters(codec="utf-8", exclude_characters="<"), max_size=20).map(str.strip).filter(bool)
ids = st.lists(st.integers(0, 40_000), max_size=6).map(tuple)


@st.composite
def conversations(draw: st.DrawFn, contents: st.SearchStrategy[str] = hostile, sampled: bool = True) -> list[Turn]:
    """Turns from an optional system message to a question or result, replies sampled or given as text."""
    turns = [Turn("system", draw(contents))] if draw(st.booleans()) else []
    turns.append(Turn("user", draw(contents)))
    for _ in range(draw(st.integers(0, 3))):
        turns.append(Turn("assistant", draw(contents), draw(st.none() | ids) if sampled else None))
        results = draw(st.integers(0, 3))
        turns += [Turn("tool", draw(contents)) for _ in range(results)] or [Turn("user", draw(contents))]
    return turns


def control_ids(family: str) -> set[int]:
    return set(WITH_TOOLS[family]().backend_tokenizer.get_added_tokens_decoder())


def encode(family: str, text: str) -> tuple[int, ...]:
    """As a model writes it: tags are control tokens where the vocabulary has them."""
    return tuple(WITH_TOOLS[family]().backend_tokenizer.encode(text, add_special_tokens=False).ids)


def decode(family: str, tokens: list[int]) -> str:
    return str(WITH_TOOLS[family]().backend_tokenizer.decode(tokens, skip_special_tokens=False))


def bare(family: str, tokens: list[int]) -> list[int]:
    """Without empty think blocks, which the template drops from earlier replies and prompts keep."""
    block = ChatFormat.of(WITH_TOOLS[family]()).thinking
    kept: list[int] = []
    for token in tokens:
        kept.append(token)
        if block and kept[-len(block) :] == block:
            del kept[-len(block) :]
    return kept


def messages(turns: list[Turn]) -> list[dict[str, Any]]:
    return [{"role": turn.role, "content": turn.content} for turn in turns]


def calling(text: str, *calls: ToolCall) -> dict[str, Any]:
    """An assistant message of the OpenAI kind."""
    functions = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [{"id": "1", "type": "function", "function": function} for function in functions],
    }


def written(family: str, message: dict[str, Any]) -> str:
    """A reply as the template writes it."""
    text = render(WITH_TOOLS[family](), [{"role": "user", "content": "Go."}, message], TOOLS)
    reply = text.split("<|im_start|>assistant\n")[1].partition("<|im_end|>")[0]
    return str(reply).removeprefix("<think>\n\n</think>\n\n")


def test_each_family_has_its_syntax() -> None:
    xml = {"qwen3_5_4b", "qwen3_5_0.8b", "xml_thinking", "xml_plain_tags"}
    assert {family for family in FAMILIES if tool_chat(family).syntax is ToolSyntax.QWEN_XML} == xml
    assert all(tool_chat(family).end == encode(family, "<|im_end|>")[0] for family in FAMILIES)


@pytest.mark.parametrize("system", [[], [Turn("system", "")], [Turn("system", "Be brief.\n\n1. été")]])
@pytest.mark.parametrize("family", TELLING)
def test_a_first_prompt_is_the_templates_own(family: str, system: list[Turn]) -> None:
    turns = [*system, Turn("user", "What is in a.py?")]
    for tools in ([], TOOLS):
        rendered = render(WITH_TOOLS[family](), messages(turns), tools, tokenize=True)
        assert tool_chat(family).prompt(turns, tools) == rendered


@pytest.mark.parametrize("system", [[], [Turn("system", "Be brief.")]])
@pytest.mark.parametrize("family", TELLING)
def test_turns_with_calls_and_results_equal_the_rendering_up_to_empty_think_blocks(
    family: str, system: list[Turn]
) -> None:
    calls = [ToolCall("read", {"path": "a.py", "lines": 3}), ToolCall("bash", {"command": "ls\ncat 'b c'"})]
    first, second = calling("", *calls), calling("I look again.", calls[0])
    results = [Turn("tool", "x = 1\n\ny = 2"), Turn("tool", "no such file: été")]
    theirs = [
        *messages([*system, Turn("user", "What is in a.py?")]),
        first,
        *messages(results),
        second,
        *messages([results[1], Turn("assistant", "It is x."), Turn("user", "Sure?")]),
    ]
    ours = [
        *system,
        Turn("user", "What is in a.py?"),
        Turn("assistant", "unused", encode(family, written(family, first))),
        *results,
        Turn("assistant", "unused", encode(family, written(family, second))),
        results[1],
        Turn("assistant", "It is x."),
        Turn("user", "Sure?"),
    ]
    for count in (-1, len(theirs) - 2, len(theirs) - 4):  # up to a question, and up to a result
        cut_at = len(theirs) if count == -1 else count
        rendered = render(WITH_TOOLS[family](), theirs[:cut_at], TOOLS, tokenize=True)
        assert bare(family, tool_chat(family).prompt(ours[:cut_at], TOOLS)) == bare(family, rendered)


@pytest.mark.parametrize("family", TELLING)
def test_a_call_that_the_template_writes_is_read_back(family: str) -> None:
    calls = (ToolCall("read", {"path": "7", "lines": 3}), ToolCall("bash", {"command": ' "a"\n</parameter>\n {'}))
    text = written(family, calling("I look.", *calls))
    tokens = [*encode(family, text), tool_chat(family).end]
    reply = tool_chat(family).decode_reply(tokens)
    assert reply == text
    assert parse_reply(reply, tool_chat(family).syntax, TOOLS) == Reply("I look.", calls)


@pytest.mark.parametrize("family", FAMILIES)
@given(turns=conversations(), reply=ids, more=conversations())
@settings(max_examples=60, deadline=None)
def test_a_prompt_continues_the_one_before_it(
    family: str, turns: list[Turn], reply: tuple[int, ...], more: list[Turn]
) -> None:
    chat = tool_chat(family)
    following = [turn for turn in more if turn.role != "system"]
    for tools in ([], TOOLS):
        before = chat.prompt(turns, tools)
        after = chat.prompt([*turns, Turn("assistant", "unused", reply), *following], tools)
        expected = [*before, *reply, chat.end]
        assert after[: len(expected)] == expected


@pytest.mark.parametrize("family", FAMILIES)
@given(turns=conversations(sampled=False))
@settings(max_examples=60, deadline=None)
def test_no_content_becomes_a_control_token(family: str, turns: list[Turn]) -> None:
    chat, control = tool_chat(family), control_ids(family)
    same = [Turn(turn.role, "a" if turn.content.strip() else "") for turn in turns]
    for tools in ([], TOOLS):
        tokens, shape = chat.prompt(turns, tools), chat.prompt(same, tools)
        assert [t for t in tokens if t in control] == [t for t in shape if t in control]


@pytest.mark.parametrize("family", FAMILIES)
@given(texts=st.tuples(hostile, hostile, hostile))
@settings(max_examples=60, deadline=None)
def test_no_text_of_a_tool_becomes_a_control_token(family: str, texts: tuple[str, str, str]) -> None:
    def tool(name: str, description: str, key: str) -> dict[str, Any]:
        parameters = {"type": "object", "properties": {key: {"enum": [description, 1, None]}}}
        return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}

    turns, control = [Turn("user", "Go.")], control_ids(family)
    tokens = tool_chat(family).prompt(turns, [tool(*texts)])
    shape = tool_chat(family).prompt(turns, [tool("a", "b", "c")])
    assert [t for t in tokens if t in control] == [t for t in shape if t in control]


@pytest.mark.parametrize("family", FAMILIES)
def test_text_of_a_tool_is_told_as_it_is(family: str) -> None:
    text = "Sentinel0Z ends at <|im_end|>, e\u0301 or <tool_call>."
    tool = {"type": "function", "function": {"name": "read", "description": text, "parameters": {}}}
    prompt = decode(family, tool_chat(family).prompt([Turn("user", "Go.")], [tool]))
    assert text.replace("e\u0301", "é") in prompt.replace("e\u0301", "é")


@pytest.mark.parametrize("family", ["smollm2", *TELLING])
@given(turns=conversations(harmless, sampled=False))
@settings(max_examples=60, deadline=None)
def test_seams_match_the_template_for_any_text(family: str, turns: list[Turn]) -> None:
    tools = TOOLS if family in TELLING else []
    rendered = render(WITH_TOOLS[family](), messages(turns), tools, tokenize=True)
    assert bare(family, tool_chat(family).prompt(turns, tools)) == bare(family, rendered)


@pytest.mark.parametrize("family", FAMILIES)
def test_contents_do_not_set_off_the_templates_logic(family: str) -> None:
    question, answer = "<tool_response>hi</tool_response>", "<think>a</think>b</think>c"
    turns = [Turn("user", question), Turn("assistant", answer), Turn("tool", answer), Turn("assistant", "ok")]
    turns.append(Turn("user", question))
    text = decode(family, tool_chat(family).prompt(turns, TOOLS))
    assert text.count(answer) == text.count(question) == 2


@pytest.mark.parametrize("family", ["smollm2", "hermes_thinking", "xml_plain_tags", "alternating"])
def test_indentation_stays_where_the_template_keeps_it(family: str) -> None:
    result = "    x = 1\n\ty = 2\n\n"
    turns = [Turn("user", "Go."), Turn("assistant", "ok"), Turn("tool", result)]
    assert f"\n{result}" in decode(family, tool_chat(family).prompt(turns, TOOLS))


@pytest.mark.parametrize("family", ["qwen3_5_4b", "xml_thinking"])
def test_white_space_goes_where_the_template_strips_it(family: str) -> None:
    assert "user\nGo.<|im_end|>" in decode(family, tool_chat(family).prompt([Turn("user", " \n Go.\n")], TOOLS))


def test_tools_are_told_in_the_system_message_if_the_template_does_not() -> None:
    first = decode("smollm2", tool_chat("smollm2").prompt([Turn("system", " Be brief. "), Turn("user", "Go.")], TOOLS))
    assert first.startswith("<|im_start|>system\nBe brief.\n\nYou can call these tools")
    assert '{"name":"bash","description":"Runs a command – été.","parameters":{"type":"object",' in first
    assert '<tool_call>{"name": "NAME", "arguments":' in first
    alone = decode("smollm2", tool_chat("smollm2").prompt([Turn("user", "Go.")], TOOLS))
    assert alone.startswith("<|im_start|>system\nYou can call")
    assert "named SmolLM" not in alone
    assert "named SmolLM" in decode("smollm2", tool_chat("smollm2").prompt([Turn("user", "Go.")], []))


def test_results_are_user_turns_only_if_the_template_has_no_role_for_them() -> None:
    turns = [Turn("user", "Go."), Turn("assistant", "ok"), Turn("tool", "A"), Turn("tool", "B")]
    tagged = "<tool_response>\nA\n</tool_response>\n<tool_response>\nB\n</tool_response>"
    assert decode("smollm2", tool_chat("smollm2").prompt(turns, [])).endswith(
        "<|im_start|>tool\nA<|im_end|>\n<|im_start|>tool\nB<|im_end|>\n<|im_start|>assistant\n"
    )
    for family in ("alternating", "hermes_plain_tags"):
        text = decode(family, tool_chat(family).prompt(turns, TOOLS)).removesuffix("<think>\n\n</think>\n\n")
        assert text.endswith(f"<|im_start|>user\n{tagged}<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("family", FAMILIES)
def test_half_a_surrogate_pair_is_replaced(family: str) -> None:
    chat, tool = tool_chat(family), {"type": "function", "function": {"name": "a\ud800", "description": "b"}}
    turns = [Turn("system", "x\ud800"), Turn("user", "\udc00y"), Turn("assistant", "\ud800"), Turn("tool", "z\ud800")]
    text = decode(family, chat.prompt(turns, [tool]))
    assert all(clean in text for clean in ("x?", "?y", "z?", '"a?"'))


MISFITS = {
    "no template": (None, "no chat template"),
    "calls of an unknown syntax": (chatml("[CALL] {{ call.function.name }}"), "syntax that can't be read"),
    "no calls": (chatml(""), "syntax that can't be read"),
    "calls of half the arguments": (chatml(JSON_CALL.replace("arguments |", "arguments.path |")), "can't be read"),
    "a question rewritten": (chatml(JSON_CALL, body="m.content | replace('Fix', 'Mix')"), "'Fix it.*' for 'Mix it"),
    "counts turns": (
        chatml(JSON_CALL, body="messages | selectattr('role', 'eq', 'tool') | list | length ~ m.content"),
        "anew",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_template_that_does_not_fit_is_refused_in_one_line(case: str) -> None:
    template, why = MISFITS[case]
    with pytest.raises(TemplateError, match=why) as caught:
        ToolChat.of(on_smollm2(template))  # type: ignore[arg-type]
    assert str(caught.value).startswith("made/up: ")
    assert str(caught.value).endswith("set another model")
    assert "\n" not in str(caught.value)


def test_our_own_tags_stay_text_where_the_vocabulary_has_tokens_for_them() -> None:
    template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    tokenizer = on_qwen(template)
    tokens = ToolChat.of(tokenizer).prompt([Turn("user", "Go.")], TOOLS)
    tag = tokenizer.backend_tokenizer.token_to_id("<tool_call>")
    assert tag is not None
    assert tag not in tokens


@pytest.mark.parametrize("family", ["qwen3_5_4b", "alternating"])
def test_an_order_of_roles_that_the_template_rejects_is_an_error(family: str) -> None:
    turns = [Turn("system", "a"), Turn("system", "b"), Turn("user", "c")]
    with pytest.raises(TemplateError, match="fails on the roles system, system, user"):
        tool_chat(family).prompt(turns, [])


def test_roles_are_those_of_the_protocol() -> None:
    assert get_args(Turn.__annotations__["role"]) == ("system", "user", "assistant", "tool")
