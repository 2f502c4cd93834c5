"""Whether the service still holds a checkpoint, and more time for one that is in use."""

import sys
from datetime import UTC, datetime, timedelta

from tinker.types import Checkpoint

from posttrain.engine.hosted.address import rest_client
from posttrain.engine.hosted.failures import is_missing
from posttrain.engine.hosted.preflight import SECONDS, bounded
from posttrain.errors import PosttrainError

SOON = timedelta(days=2)
"""A checkpoint in use that expires sooner than this gets its whole time again."""


def kept(path: str, ttl: timedelta | None) -> bool:
    """Whether the service has the checkpoint; one that expires soon is given `ttl` from now (None: for ever).

    Raises:
        EngineError, InfrastructureError: the service does not say.
    """
    checkpoint = bounded(lambda: _find(path), 2 * SECONDS, f"asking for {path}")
    if checkpoint is None:
        return False
    if (expires := checkpoint.expires_at) is not None:
        left = expires - datetime.now(UTC)
        if left <= timedelta():
            return False
        if left < SOON:
            _extend(path, ttl)
    return True


def _find(path: str) -> Checkpoint | None:
    """What the service says of it, from the list of its run: other answers know only one kind, and no expiry."""
    run = path.removeprefix("tinker://").split("/")[0]
    try:
        listed = rest_client().list_checkpoints(run).result(SECONDS)
    except Exception as error:
        if is_missing(error):
            return None
        raise
    return next((one for one in listed.checkpoints if one.tinker_path == path), None)


def _extend(path: str, ttl: timedelta | None) -> None:
    seconds = None if ttl is None else round(ttl.total_seconds())
    try:
        bounded(
            lambda: rest_client().set_checkpoint_ttl_from_tinker_path(path, seconds).result(SECONDS),
            2 * SECONDS,
            f"giving {path} more time",
        )
    except PosttrainError as error:
        print(f"{error}; it may expire during the run", file=sys.stderr)
