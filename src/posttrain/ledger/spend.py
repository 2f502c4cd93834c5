"""What was paid: a row for every request and training step, in the file that holds the samples they paid for."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from posttrain.ledger.account import Account
from posttrain.ledger.database import explaining, transaction
from posttrain.ledger.price import Tokens

SCHEMA = """
CREATE TABLE charges (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, project TEXT NOT NULL, experiment TEXT NOT NULL, stage TEXT NOT NULL,
  run TEXT NOT NULL, model TEXT NOT NULL, prefill INTEGER NOT NULL, cached INTEGER NOT NULL, sampled INTEGER NOT NULL,
  trained INTEGER NOT NULL, usd REAL NOT NULL, discount REAL NOT NULL);
CREATE INDEX charges_of ON charges (project, stage, run);
CREATE TABLE passes (
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, project TEXT NOT NULL, experiment TEXT NOT NULL, stage TEXT NOT NULL,
  run TEXT NOT NULL, model TEXT NOT NULL, units INTEGER NOT NULL, estimate REAL NOT NULL, tokens INTEGER, seconds REAL)
"""
_SUMS = "count(*), total(prefill), total(cached), total(sampled), total(trained), total(usd), total(discount)"


@dataclass(frozen=True)
class Charge:
    """Tokens and price of one request or training step; `usd` pays every prompt token, `discount` is the cache's."""

    account: Account
    model: str
    tokens: Tokens
    usd: float
    discount: float


@dataclass(frozen=True)
class Spending:
    """Charges added up."""

    requests: int
    tokens: Tokens
    usd: float
    discount: float


@dataclass(frozen=True)
class Booked:
    """What an experiment's stage has spent, beside what it was first estimated to (None: not begun as a stage)."""

    experiment: str
    stage: str
    spending: Spending
    estimate: float | None


@dataclass(frozen=True)
class Average:
    """Tokens of a run of so many units (episodes, or training examples), and how many seconds each token took."""

    tokens: Tokens
    units: int
    seconds: float


class SpendLog:
    """The spending side of a `SampleStore`; every method may raise `StoreError`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._pending: list[Charge] = []
        self._seen: dict[str, tuple[int, float]] = {}

    def add(self, charge: Charge) -> None:
        """Keeps a charge until the store's next transaction."""
        self._pending.append(charge)

    def write(self) -> None:
        """Writes what is pending, inside the store's transaction."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            (now, *_names(charge.account), charge.model, *_counts(charge.tokens), charge.usd, charge.discount)
            for charge in self._pending
        ]
        places = ", ".join("?" * 12)
        self._connection.executemany(f"INSERT INTO charges VALUES (NULL, {places})", rows)

    def written(self) -> None:
        """Tells that the transaction holding what was pending has been committed."""
        self._pending.clear()

    @property
    def pending(self) -> bool:
        """Whether there is something to write."""
        return bool(self._pending)

    def spent(self, project: str) -> float:
        """USD that a project has spent so far, in all processes; reads only what has been added since the last call."""
        last, usd = self._seen.get(project, (0, 0.0))
        query = "SELECT max(id), total(usd) FROM charges WHERE project = ? AND id > ?"
        with explaining(self._path):
            newest, more = self._connection.execute(query, (project, last)).fetchone()
        known: float = usd + more
        self._seen[project] = (newest or last, known)
        return known + sum(charge.usd for charge in self._pending if charge.account.project == project)

    def of_run(self, stage: str, run: str) -> Spending:
        """What one run of a stage has cost over all its passes, in any project that shares this file."""
        query = f"SELECT {_SUMS} FROM charges WHERE stage = ? AND run = ?"
        with explaining(self._path):
            return _spending(self._connection.execute(query, (stage, run)).fetchone())

    def seconds(self, account: Account) -> float:
        """Wall seconds of a run's finished passes in which something was drawn or trained."""
        query = "SELECT total(seconds) FROM passes WHERE stage = ? AND run = ? AND tokens > 0"
        with explaining(self._path):
            return float(self._connection.execute(query, (account.stage, account.run)).fetchone()[0])

    def booked(self, project: str) -> list[Booked]:
        """Spending by experiment and stage, in the order in which they first spent."""
        charges = (
            f"SELECT experiment, stage, {_SUMS} FROM charges WHERE project = ? "
            "GROUP BY experiment, stage ORDER BY min(id)"
        )
        first = "SELECT estimate, min(id) FROM passes WHERE project = ? AND experiment = ? AND stage = ?"
        with explaining(self._path):
            found = self._connection.execute(charges, (project,)).fetchall()
            estimates = [self._connection.execute(first, (project, *row[:2])).fetchone()[0] for row in found]
        return [
            Booked(row[0], row[1], _spending(row[2:]), estimate) for row, estimate in zip(found, estimates, strict=True)
        ]

    def begin(self, account: Account, model: str, units: int, estimate: float) -> int:
        """Notes that a stage starts; returns the number for `finish`."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = (now, *_names(account), model, units, estimate)
        with explaining(self._path), transaction(self._connection):
            places = ", ".join("?" * 8)
            cursor = self._connection.execute(f"INSERT INTO passes VALUES (NULL, {places}, NULL, NULL)", row)
        return int(cursor.lastrowid or 0)

    def finish(self, number: int, tokens: int, seconds: float) -> None:
        """Notes that the pass is done, how many tokens were drawn and trained in it, and how long it took."""
        with explaining(self._path), transaction(self._connection):
            self._connection.execute(
                "UPDATE passes SET tokens = ?, seconds = ? WHERE id = ?", (tokens, seconds, number)
            )

    def averages(self, family: str, model: str) -> Average | None:
        """What a unit of a stage family (`eval_sft` of `eval_sft@2`) took: the dearest of its last five runs.

        The dearest, because a run that found some of its samples stored drew fewer. None if none drew any.
        """
        last = (
            "SELECT stage, run, units, tokens, seconds FROM passes WHERE (stage = ? OR stage GLOB ?) AND model = ? "
            "AND tokens > 0 AND units > 0 ORDER BY id DESC LIMIT 5"
        )
        with explaining(self._path):
            rows = self._connection.execute(last, (family, f"{family}@*", model)).fetchall()
        found = [
            Average(self.of_run(stage, run).tokens, units, seconds / tokens)
            for stage, run, units, tokens, seconds in rows
        ]
        return max(found, key=lambda average: average.tokens.total / average.units, default=None)


def _names(account: Account) -> tuple[str, str, str, str]:
    return account.project, account.experiment, account.stage, account.run


def _counts(tokens: Tokens) -> tuple[int, int, int, int]:
    return tokens.prefill, tokens.cached, tokens.sampled, tokens.trained


def _spending(row: tuple[float, ...]) -> Spending:
    requests, prefill, cached, sampled, trained, usd, discount = row
    tokens = Tokens(int(prefill), int(cached), int(sampled), int(trained))
    return Spending(int(requests), tokens, usd, discount)
