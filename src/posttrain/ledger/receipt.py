"""Receipts: what a stage made, from what, at what price. They live in git, so a fresh clone knows what is paid for."""

import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.files import read_json, sha256_file, write_json, write_text
from posttrain.ledger.fingerprint import Inputs

FOLDER = Path("receipts")
KEPT_BYTES = 65536
"""Outputs are kept in the receipt, whole, if each is text and no longer than this: pointers, curves, metrics."""
_PACKAGES = ("posttrain", "tinker", "torch", "transformers", "peft", "bm25s", "numpy")


def receipt_path(stage: str) -> Path:
    """Where a stage's receipt stands."""
    return FOLDER / f"{stage}.json"


def find_receipt(inputs: Inputs) -> dict[str, Any] | None:
    """The stage's receipt, if it was written for just these inputs.

    Raises:
        DataError: the file is not a receipt.
    """
    path = receipt_path(inputs.stage.name)
    if not path.exists():
        return None
    receipt = read_receipt(path)
    return receipt if receipt["fingerprint"] == inputs.fingerprint else None


def read_receipt(path: Path) -> dict[str, Any]:
    """Reads a receipt.

    Raises:
        DataError: the file is missing or not a receipt.
    """
    receipt = read_json(path)
    parts = ("fingerprint", "outputs", "kept")
    if not isinstance(receipt, dict) or any(part not in receipt for part in parts):
        raise DataError(f"{path} is not a receipt; restore it with `git checkout {path}`, or delete it")
    for name in receipt["kept"] or ():
        if not Path(name).resolve().is_relative_to(Path.cwd()):
            raise DataError(f"{path} names {name}, which is outside the project; delete the receipt")
    return dict(receipt)


def write_receipt(inputs: Inputs, about: Mapping[str, Any]) -> None:
    """Writes a finished stage's receipt, unless the one that is there says the same of inputs and outputs.

    `about` adds model, prices, tokens, USD and seconds.
    """
    outputs = {str(file): sha256_file(file) for out in inputs.stage.outs for file in _files(Path(out))}
    path = receipt_path(inputs.stage.name)
    if path.exists():
        old = read_receipt(path)
        if old["fingerprint"] == inputs.fingerprint and old["outputs"] == outputs:
            return
    receipt = {
        "stage": inputs.stage.name,
        "fingerprint": inputs.fingerprint,
        **about,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "params": inputs.params,
        "inputs": inputs.deps,
        "outputs": outputs,
        "kept": _kept(outputs),
    }
    write_json(path, receipt)


def recreate(receipt: Mapping[str, Any]) -> None:
    """Writes the outputs that a receipt keeps."""
    for name, text in receipt["kept"].items():
        write_text(Path(name), text)


def _kept(outputs: Mapping[str, str]) -> dict[str, str] | None:
    """The outputs' texts, or None if one of them is too long or no text, for a part would be of no use."""
    kept: dict[str, str] = {}
    for name in outputs:
        if Path(name).stat().st_size > KEPT_BYTES:
            return None
        try:
            kept[name] = Path(name).read_bytes().decode()
        except UnicodeDecodeError:
            return None
    return kept


def _files(out: Path) -> Iterator[Path]:
    if out.is_file():
        yield out
    else:
        yield from sorted(file for file in out.rglob("*") if file.is_file())
