"""What must stay the same for two rounds to be about the same model, judged in the same way."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import posttrain
from posttrain.closure import import_closure
from posttrain.files import sha256_file

_SOURCE = Path(posttrain.__path__[0]).parent


@dataclass(frozen=True)
class ModelSignature:
    """revision: the checkpoint. thinking: level, "" for none. languages: those whose runtimes were there.

    sampling: such as temperature and max_tokens, each as text. The hashes are hex SHA-256 of the scorer's code, of
    the evaluator's, of all prompts, and of the tools that the agent has, with the sandbox's image.
    """

    model: str
    revision: str
    provider: str
    thinking: str
    languages: tuple[str, ...]
    sampling: dict[str, str]
    scorer_sha256: str
    evaluator_sha256: str
    prompts_sha256: str
    tools_sha256: str

    @property
    def digest(self) -> str:
        """Hex SHA-256 of all of it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def differences(one: ModelSignature, other: ModelSignature) -> list[str]:
    """What differs, a line each with both values; empty if nothing does."""
    first, second = asdict(one), asdict(other)
    return [f"{name}: {first[name]!r} and {second[name]!r}" for name in first if first[name] != second[name]]


def code_sha256(module: str) -> str:
    """Of a module of this package, such as "posttrain.euler.score", and of all that it imports of the package.

    Raises:
        DataError: a file of it is not Python.
    """
    script = _SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    return files_sha256(import_closure(script, _SOURCE), _SOURCE)


def files_sha256(files: list[Path], base: Path) -> str:
    """Of files and their names relative to `base`, in any order."""
    listing = sorted([file.relative_to(base).as_posix(), sha256_file(file)] for file in files)
    return hashlib.sha256(json.dumps(listing).encode()).hexdigest()
