"""The sample store: what was sampled or trained once is read back instead of being paid for again."""

import asyncio
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from posttrain.errors import StoreError
from posttrain.ledger.database import corrupt, explaining, open_database, transaction
from posttrain.ledger.sample import Sample, SampleKey, from_row, to_row
from posttrain.ledger.spend import SCHEMA as SPEND_SCHEMA
from posttrain.ledger.spend import Charge, SpendLog

__all__ = ["Sample", "SampleKey", "SampleStore"]

_SCHEMA = """
CREATE TABLE samples (
  key BLOB PRIMARY KEY, policy TEXT NOT NULL, tokens BLOB NOT NULL, logprobs BLOB NOT NULL,
  stop_reason TEXT NOT NULL, cached_tokens INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE updates (lineage TEXT PRIMARY KEY, metrics TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE openings (
  test_hash TEXT NOT NULL, policy TEXT NOT NULL, settings TEXT NOT NULL, first_opened TEXT NOT NULL,
  PRIMARY KEY (test_hash, policy, settings)) WITHOUT ROWID
"""
_KEYS_PER_QUERY = 500


class SampleStore:
    """One SQLite file of samples, training metrics, openings of test sets, and what all of it cost (`spend`).

    Several processes may use the file at once; one instance belongs to one thread. Whatever is stored first under
    a key stays: a later value is ignored, so that replays agree. Every method may raise `StoreError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_database(path, [_SCHEMA, SPEND_SCHEMA])
        self.spend = SpendLog(self._connection, path)
        self._pending: dict[bytes, tuple[SampleKey, Sample]] = {}
        self._flush_due_in: asyncio.AbstractEventLoop | None = None
        self._failure: StoreError | None = None
        self._closed = False

    def get(self, keys: Sequence[SampleKey]) -> list[Sample | None]:
        """The stored samples in the order of `keys`, None where there is none; sees samples not yet written."""
        found: dict[bytes, Sample] = {}
        digests = [key.digest for key in keys]
        for start in range(0, len(digests), _KEYS_PER_QUERY):
            found.update(self._read(digests[start : start + _KEYS_PER_QUERY]))
        found.update({digest: self._pending[digest][1] for digest in digests if digest in self._pending})
        return [found.get(digest) for digest in digests]

    def put(self, key: SampleKey, sample: Sample) -> None:
        """Stores a sample: in one transaction with all others of the event loop's tick, or at once without a loop.

        So a batch whose results arrive together is stored whole or not at all, and a kill never leaves half of it.
        A failure to write inside the loop is raised by the next `put`, `flush` or `close`.
        """
        if self._failure is not None:
            raise self._failure
        self._pending.setdefault(key.digest, (key, sample))
        self._flush_soon()

    def charge(self, charge: Charge) -> None:
        """Books what a request or training step cost, in one transaction with the samples of the same tick."""
        if self._failure is not None:
            raise self._failure
        self.spend.add(charge)
        self._flush_soon()

    def _flush_soon(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        if self._flush_due_in is not loop:  # a loop that ended early never ran its flush
            self._flush_due_in = loop
            loop.call_soon(self._flush_in_loop)

    def flush(self) -> None:
        """Writes what is pending in one transaction; on failure it stays pending, and a later flush tries again."""
        self._flush_due_in = None
        if self._pending or self.spend.pending:
            rows = [to_row(key, sample) for key, sample in self._pending.values()]
            with explaining(self.path), transaction(self._connection):
                self._connection.executemany(
                    "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows
                )
                self.spend.write()
        self._pending.clear()
        self.spend.written()
        self._failure = None

    def get_update(self, lineage: str) -> dict[str, Any] | None:
        """Metrics of the training update that led to `lineage`, or None if it was never made."""
        with explaining(self.path):
            query = "SELECT metrics, crc FROM updates WHERE lineage = ?"
            row = self._connection.execute(query, (lineage,)).fetchone()
        if row is None:
            return None
        text, crc = row
        if not isinstance(text, str) or crc != zlib.crc32((lineage + text).encode()):
            raise StoreError(corrupt(self.path, f"the metrics of update {lineage} do not match their checksum"))
        metrics: dict[str, Any] = json.loads(text)
        return metrics

    def put_update(self, lineage: str, metrics: Mapping[str, Any]) -> None:
        """Stores an update's metrics (JSON values) at once."""
        text = json.dumps(dict(metrics))
        row = (lineage, text, zlib.crc32((lineage + text).encode()))
        with explaining(self.path), transaction(self._connection):
            self._connection.execute("INSERT INTO updates VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)

    def record_opening(self, test_hash: str, policy: str, settings: str) -> None:
        """Notes that a test set was used to measure a policy under some settings; the first time is kept."""
        row = (test_hash, policy, settings, datetime.now(UTC).isoformat(timespec="seconds"))
        with explaining(self.path), transaction(self._connection):
            self._connection.execute("INSERT INTO openings VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)

    def count_openings(self, test_hash: str) -> int:
        """In how many different ways (policy and settings) a test set has been opened so far."""
        with explaining(self.path):
            query = "SELECT count(*) FROM openings WHERE test_hash = ?"
            count: int = self._connection.execute(query, (test_hash,)).fetchone()[0]
        return count

    def close(self) -> None:
        """Writes what is pending and closes the file; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _flush_in_loop(self) -> None:
        # An exception in a callback would only be logged by the loop.
        if self._closed:
            return
        try:
            self.flush()
        except StoreError as error:
            self._failure = error

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, Sample]:
        query = (
            "SELECT key, tokens, logprobs, stop_reason, cached_tokens, crc FROM samples "
            f"WHERE key IN ({', '.join('?' * len(digests))})"
        )
        with explaining(self.path):
            rows = self._connection.execute(query, digests).fetchall()
        try:
            return {row[0]: from_row(*row) for row in rows}
        except ValueError as error:
            raise StoreError(corrupt(self.path, error)) from error
