"""The digest of the whole suite: whatever changes in it makes another suite, whose runs compare with none of these."""

import hashlib
import json
from typing import Any

from posttrain.errors import DataError
from posttrain.euler.languages import LANGUAGES
from posttrain.euler.transfer.tasks import NAMES, as_problem, task

SUITE = "transfer-v1"
"""What stands in a manifest as the source of the problems."""
FROZEN_SHA256 = "be32d6ebef8db4498d86751ea672c10cc238c3cd5bec052f83a1ad7ac4e71424"


def suite_sha256() -> str:
    """Hex SHA-256 over names, languages, prompts, files and answers, as the code has them now."""
    return _digest([SUITE, [[number, name, task_sha256(number)] for number, name in NAMES.items()]])


def task_sha256(number: int) -> str:
    """Hex SHA-256 of a task in all its languages: prompts, files and answers."""
    return _digest([[language, as_problem(task(number, language)).task_sha256] for language in LANGUAGES])


def check_frozen() -> None:
    """Raises DataError if the suite is no longer the one that was frozen."""
    if (found := suite_sha256()) != FROZEN_SHA256:
        raise DataError(
            f"{SUITE} has SHA-256 {found[:16]} and not {FROZEN_SHA256[:16]}: a prompt, a file, an answer or a language "
            "of it was changed; restore src/posttrain/euler/transfer from git"
        )


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
