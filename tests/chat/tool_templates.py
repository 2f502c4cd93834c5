"""Small chat templates with tools, built like those of the field's families, on the two real vocabularies."""

from collections.abc import Callable
from functools import cache
from typing import Any

from tokenizers import Tokenizer

from posttrain.chat.tool_chat import ToolChat
from tests.families import TOKENIZERS, qwen_backend, smollm2

JSON_CALL = (
    '<tool_call>\n{"name": "{{ call.function.name }}", '
    '"arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
)
XML_CALL = (
    "<tool_call>\n<function={{ call.function.name }}>\n{% for key, value in call.function.arguments | items %}"
    "<parameter={{ key }}>\n{{ value | string if value is string or value is not iterable else value | tojson }}\n"
    "</parameter>\n{% endfor %}</function>\n</tool_call>"
)
BLOCK = "<think>\n\n</think>\n\n"


def chatml(call: str, *, thinking: bool = False, body: str = "m.content") -> str:
    """A template with tools in the system message and consecutive results in one user turn.

    With `thinking`, replies after the last question hold an empty think block and earlier ones don't. As the real
    ones it looks at contents: for results sent as questions, and for reasoning before the answer.
    """
    block = f"{{% if loop.index0 > at.query %}}{BLOCK}{{% endif %}}" if thinking else ""
    text = (
        "{% set at = namespace(query=0) %}{% for m in messages %}"
        "{% if m.role == 'user' and not m.content.startswith('<tool_response>') %}"
        "{% set at.query = loop.index0 %}{% endif %}{% endfor %}"
        "{% if tools %}<|im_start|>system\n"
        "{% if messages[0].role == 'system' %}{{ messages[0].content }}\n\n{% endif %}"
        "Functions:{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}<|im_end|>\n"
        "{% elif messages[0].role == 'system' %}<|im_start|>system\n{{ messages[0].content }}<|im_end|>\n"
        "{% endif %}"
        "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>user\n{{ BODY }}<|im_end|>\n"
        "{% elif m.role == 'assistant' %}<|im_start|>assistant\n" + block + "{{ m.content.split('</think>')[-1] }}"
        "{% for call in m.tool_calls or [] %}{% if m.content or not loop.first %}\n{% endif %}" + call + "{% endfor %}"
        "<|im_end|>\n{% elif m.role == 'tool' %}{% if loop.previtem.role != 'tool' %}<|im_start|>user{% endif %}\n"
        "<tool_response>\n{{ m.content }}\n</tool_response>"
        "{% if loop.last or loop.nextitem.role != 'tool' %}<|im_end|>\n{% endif %}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n" + (BLOCK if thinking else "") + "{% endif %}"
    )
    return text.replace("BODY", body).replace("%}\n", "%}{{ '\\n' }}")  # Jinja swallows a newline after a block


ALTERNATING = (
    "{% for m in messages %}{% if m.role not in ('system', 'user', 'assistant') %}{{ raise_exception('no ' + m.role) }}"
    "{% endif %}{% if not loop.first and m.role == loop.previtem.role %}{{ raise_exception('alternate') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def on_qwen(template: str) -> Any:
    """Qwen3.5's vocabulary, which has tokens for all tags, under another template."""
    return _made(Tokenizer.from_str(qwen_backend()), template)


def on_smollm2(template: str) -> Any:
    """SmolLM2's vocabulary, for which tags are plain text, under another template."""
    return _made(smollm2().backend_tokenizer, template)


def _made(backend: Tokenizer, template: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=backend, chat_template=template, eos_token="<|im_end|>", name_or_path="made/up"
    )


WITH_TOOLS: dict[str, Callable[[], Any]] = {
    **TOKENIZERS,
    "hermes_thinking": cache(lambda: on_qwen(chatml(JSON_CALL, thinking=True))),
    "xml_thinking": cache(lambda: on_qwen(chatml(XML_CALL, thinking=True, body="m.content | trim"))),
    "hermes_plain_tags": cache(lambda: on_smollm2(chatml(JSON_CALL))),
    "xml_plain_tags": cache(lambda: on_smollm2(chatml(XML_CALL))),
    "alternating": cache(lambda: on_smollm2(ALTERNATING)),
}


@cache
def tool_chat(family: str) -> ToolChat:
    """The checked conversation with tools of one family."""
    return ToolChat.of(WITH_TOOLS[family]())
