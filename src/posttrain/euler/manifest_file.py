"""A round's manifest on disk, and where the events of its rollouts belong."""

from dataclasses import asdict
from pathlib import Path

from posttrain.errors import DataError
from posttrain.euler.manifest import VERSION, Manifest
from posttrain.euler.planned import Planned
from posttrain.euler.typed import build
from posttrain.files import read_json, sha256_file, write_json

MANIFEST, RAW = "manifest.json", "raw"


def start_round(folder: Path, manifest: Manifest) -> str:
    """Writes the manifest and returns the round's id, its SHA-256; nothing may be sampled before.

    Raises:
        DataError: the folder holds another round already, or the plan names a rollout twice.
    """
    keys = [planned.key for planned in manifest.plan]
    if not keys or len(set(keys)) < len(keys):
        raise DataError(f"{folder}: a round needs rollouts, each planned once; {len(keys)} are planned")
    if (folder / MANIFEST).exists():
        if read_manifest(folder) != manifest:
            raise DataError(f"{folder} holds another round already; take a new folder")
    else:
        write_json(folder / MANIFEST, asdict(manifest))
    return round_id(folder)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a round.

    Raises:
        DataError: it is missing or no manifest.
    """
    manifest = build(Manifest, read_json(folder / MANIFEST), str(folder / MANIFEST))
    if manifest.version != VERSION:
        raise DataError(f"{folder / MANIFEST} has version {manifest.version}, and {VERSION} is read here")
    return manifest


def round_id(folder: Path) -> str:
    """Hex SHA-256 of the manifest."""
    return sha256_file(folder / MANIFEST)


def log_path(folder: Path, planned: Planned) -> Path:
    """Where the events of a rollout belong."""
    return folder / RAW / f"{planned.key}.jsonl"
