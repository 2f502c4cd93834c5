"""Which lineage was saved where on the service: one small file each in the user's cache."""

from dataclasses import asdict
from pathlib import Path

from posttrain.engine.hosted.address import base_url
from posttrain.engine.protocol import SavedPaths
from posttrain.errors import DataError, EngineError
from posttrain.files import read_json, write_json
from posttrain.ledger.places import default_path

KINDS = {"state": "/weights/", "sampler": "/sampler_weights/"}
"""Where the two kinds of checkpoints stand in a `tinker://` path."""


def write_pointer(lineage: str, paths: SavedPaths) -> None:
    """Remembers that the service in use holds a policy's checkpoints."""
    write_json(_file(lineage), {**asdict(paths), "base_url": base_url()})


def read_pointer(lineage: str) -> SavedPaths | None:
    """The checkpoints that the service in use should hold; a damaged file counts as none."""
    try:
        found = read_json(_file(lineage))
        paths = SavedPaths(found["sampler"], found["state"])
        check_kind(paths.sampler, "sampler")
        check_kind(paths.state, "state")
        return paths if found["base_url"] == base_url() else None
    except (DataError, EngineError, KeyError, TypeError, AttributeError):
        return None


def check_kind(path: str, kind: str) -> None:
    """Refuses a checkpoint of the other kind by its name.

    Raises:
        EngineError: `path` is not a `tinker://` path of this kind.
    """
    if path.startswith("tinker://") and KINDS[kind] in path:
        return
    other = "sampler" if kind == "state" else "state"
    if path.startswith("tinker://") and KINDS[other] in path:
        use = {"state": "trained further", "sampler": "sampled from"}
        raise EngineError(
            f"{path} can only be {use[other]}; the checkpoint to be {use[kind]} has {KINDS[kind]} in its path"
        )
    raise EngineError(f"{path} is no hosted checkpoint; engine.name is tinker, so models/ must come from a hosted run")


def _file(lineage: str) -> Path:
    return default_path() / "hosted" / f"{lineage}.json"
