"""The receipt of a round: what it ended with, and the SHA-256 of everything in its folder."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from posttrain.errors import DataError
from posttrain.euler.gate import check_complete, judge
from posttrain.euler.manifest_file import MANIFEST, log_path, read_manifest, round_id
from posttrain.euler.round_files import RESULTS, read_results
from posttrain.euler.rounds import Round
from posttrain.euler.summary import summarize
from posttrain.euler.typed import build
from posttrain.files import read_json, sha256_file, write_json, write_jsonl

RECEIPT, SUMMARY = "receipt.json", "summary.json"


@dataclass(frozen=True)
class RoundReceipt:
    """round: its id, the manifest's SHA-256. error: of a failed one. expected, completed, lost: rollouts.

    sha256: of each file of the folder but the receipt itself, by its path in it. finished: ISO 8601 in UTC.
    """

    version: int
    round: str
    status: Literal["completed", "failed"]
    error: str | None
    expected: int
    completed: int
    lost: int
    sha256: dict[str, str]
    finished: str


def finish_round(folder: Path) -> Round:
    """Writes the summary and the receipt of a round whose rollouts have all been sampled or lost.

    Raises:
        DataError: a rollout was never sampled, or the round has been finished before.
    """
    manifest, rollouts = read_manifest(folder), read_results(folder)
    check_complete(manifest.plan, rollouts)
    if (folder / RECEIPT).exists() and read_receipt(folder).status == "completed":
        raise DataError(f"{folder} has been finished before; sample a new round in a new folder")
    finished = Round(round_id(folder), manifest, tuple(rollouts))
    write_jsonl(folder / RESULTS, map(asdict, rollouts))
    write_json(folder / SUMMARY, summarize(finished, judge(finished)))
    _write(folder, "completed", None)
    return finished


def fail_round(folder: Path, error: str) -> None:
    """Keeps what a round that broke off has, and binds it by a receipt that says why."""
    write_jsonl(folder / RESULTS, map(asdict, read_results(folder)))
    _write(folder, "failed", error)


def read_receipt(folder: Path) -> RoundReceipt:
    """The receipt of a round.

    Raises:
        DataError: there is none, or it is none.
    """
    path = folder / RECEIPT
    if not path.exists():
        raise DataError(f"{path} is missing: the round was interrupted; resume it, or leave it out")
    return build(RoundReceipt, read_json(path), str(path))


def check_round(folder: Path) -> list[str]:
    """What in a round's folder differs from its receipt, a line for each; empty if all is as it was left.

    Raises:
        DataError: there is no receipt.
    """
    receipt = read_receipt(folder)
    found = _hashes(folder)
    differing = []
    for name in sorted({MANIFEST, *receipt.sha256, *found}):
        if name not in found:
            differing.append(f"{name} is missing")
        elif name not in receipt.sha256:
            differing.append(f"{name} is not in the receipt")
        elif found[name] != receipt.sha256[name]:
            differing.append(f"{name} has SHA-256 {found[name][:16]} and not {receipt.sha256[name][:16]}")
    if receipt.sha256.get(MANIFEST) != receipt.round:
        differing.append(f"the receipt is of round {receipt.round[:16]}, and its manifest of another")
    if MANIFEST in found and not differing:
        differing += _check_rows(folder, receipt)
    return differing


def read_round(folder: Path) -> Round:
    """A completed round, checked.

    Raises:
        DataError: it is not complete, or differs from its receipt; the message names the first difference.
    """
    if differing := check_round(folder):
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise DataError(f"{folder} is not as it was left: {differing[0]}{more}; restore it, or sample a new round")
    receipt = read_receipt(folder)
    if receipt.status != "completed":
        raise DataError(f"{folder} broke off: {receipt.error}; resume it, or sample a new round")
    return Round(receipt.round, read_manifest(folder), tuple(read_results(folder)))


def _write(folder: Path, status: Literal["completed", "failed"], error: str | None) -> None:
    rollouts = read_results(folder)
    lost = sum(rollout.failure is not None for rollout in rollouts)
    receipt = RoundReceipt(
        version=1,
        round=round_id(folder),
        status=status,
        error=error,
        expected=len(read_manifest(folder).plan),
        completed=len(rollouts) - lost,
        lost=lost,
        sha256=_hashes(folder),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_json(folder / RECEIPT, asdict(receipt))


def _hashes(folder: Path) -> dict[str, str]:
    """Of every file but the receipt and what an interrupted write left."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): sha256_file(path) for path in files if path != folder / RECEIPT}


def _check_rows(folder: Path, receipt: RoundReceipt) -> list[str]:
    """The rows against their events and the receipt's counts."""
    differing = []
    rollouts = read_results(folder)
    lost = sum(rollout.failure is not None for rollout in rollouts)
    if (len(rollouts) - lost, lost) != (receipt.completed, receipt.lost):
        differing.append(f"{RESULTS} has {len(rollouts) - lost} completed rollouts, the receipt {receipt.completed}")
    for rollout in rollouts:
        log = log_path(folder, rollout.planned)
        digest = sha256_file(log) if log.is_file() else ""
        if digest != rollout.events_sha256:
            differing.append(f"{log.relative_to(folder)} is not what rollout {rollout.planned.key} was scored by")
    return differing
