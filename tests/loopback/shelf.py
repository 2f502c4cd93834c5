"""Checkpoints of the loopback service: folders by run, kind and name, which outlive the server."""

import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from posttrain.files import read_json, write_json

KINDS = {"weights": "training", "sampler_weights": "sampler"}
_NAME = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]*")


class Refusal(Exception):
    """An answer with an HTTP status that is none of success."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True)
class Checkpoint:
    """`tinker://<run>/<kind>/<name>`, with a kind of `KINDS`."""

    run: str
    kind: str
    name: str

    @property
    def path(self) -> str:
        """Its address on the service."""
        return f"tinker://{self.run}/{self.kind}/{self.name}"


def parsed(path: str) -> Checkpoint:
    """Raises Refusal (400) on what is no checkpoint's address; nothing that passes leads out of the shelf."""
    parts = path.removeprefix("tinker://").split("/")
    well = path.startswith("tinker://") and len(parts) == 3 and all(_NAME.fullmatch(part) for part in parts)
    if not well or parts[1] not in KINDS:
        raise Refusal(400, f"{path} is no checkpoint's path")
    return Checkpoint(*parts)


class Shelf:
    """A folder of checkpoints. One stands there once its `about.json` does."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()  # LocalTrainer.save takes a name from the root on as it is

    def folder(self, checkpoint: Checkpoint) -> Path:
        """Where its files are: `state` and `sampler`, as the local engine saves them."""
        return self._root / checkpoint.run / checkpoint.kind / checkpoint.name

    def add(self, checkpoint: Checkpoint, rank: int, ttl_seconds: int | None) -> None:
        """Its files have been written."""
        about = {"time": datetime.now(UTC).isoformat(), "rank": rank, "expires_at": _expiry(ttl_seconds)}
        write_json(self.folder(checkpoint) / "about.json", about)

    def has(self, checkpoint: Checkpoint) -> bool:
        """Whether it is there and has not expired."""
        about = self.folder(checkpoint) / "about.json"
        if not about.is_file():
            return False
        expires = read_json(about)["expires_at"]
        return expires is None or datetime.fromisoformat(expires) > datetime.now(UTC)

    def about(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """`time`, `rank` and `expires_at`; raises Refusal (404) if it is gone."""
        if not self.has(checkpoint):
            raise Refusal(404, f"checkpoint {checkpoint.path} does not exist or has expired")
        found: dict[str, Any] = read_json(self.folder(checkpoint) / "about.json")
        return found

    def keep(self, checkpoint: Checkpoint, ttl_seconds: int | None) -> None:
        """Counts its time to live from now."""
        about = {**self.about(checkpoint), "expires_at": _expiry(ttl_seconds)}
        write_json(self.folder(checkpoint) / "about.json", about)

    def remove(self, checkpoint: Checkpoint) -> None:
        """Raises Refusal (404) if it is gone already."""
        self.about(checkpoint)
        shutil.rmtree(self.folder(checkpoint))

    def listing(self, run: str | None = None) -> list[dict[str, Any]]:
        """What the service says of each checkpoint, of one run or of all."""
        found = []
        for path in sorted(self._root.glob("*/*/*/about.json")):
            checkpoint = Checkpoint(*path.relative_to(self._root).parts[:3])
            if run in (None, checkpoint.run) and self.has(checkpoint):
                about = read_json(path)
                found.append(
                    {
                        "checkpoint_id": f"{checkpoint.kind}/{checkpoint.name}",
                        "checkpoint_type": KINDS[checkpoint.kind],
                        "time": about["time"],
                        "tinker_path": checkpoint.path,
                        "expires_at": about["expires_at"],
                    }
                )
        return found


def _expiry(ttl_seconds: int | None) -> str | None:
    return None if ttl_seconds is None else (datetime.now(UTC) + timedelta(seconds=ttl_seconds)).isoformat()
