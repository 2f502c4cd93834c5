"""One SQLite file opened so that several processes may write it, with failures told in the user's terms."""

import shlex
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from posttrain.errors import StoreError

BUSY_SECONDS = 60.0


def open_database(path: Path, schemas: Sequence[str]) -> sqlite3.Connection:
    """Opens or creates the file in WAL mode; statements commit one by one unless inside `transaction`.

    `schemas` holds the statements that lead from each version to the next; an older file is brought up to date.

    Raises:
        StoreError: not a database, written by a newer version, or not writable.
    """
    with explaining(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            _switch_to_wal(connection)
            # FULL syncs the log at every commit: NORMAL may drop the last commits at a power cut, and each holds
            # samples that cost money or minutes, while a sync costs milliseconds.
            connection.execute("PRAGMA synchronous=FULL")
            _prepare(connection, path, schemas)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything in the block is written, or nothing; waits for other writers up to a minute."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has already rolled back by itself after some failures
            connection.execute("ROLLBACK")
        raise


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turns SQLite's and the system's failures into a `StoreError` that says what to do."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        raise StoreError(_explanation(path, error)) from error
    except OSError as error:
        raise StoreError(_no_room(path, error)) from error


def corrupt(path: Path, what: object) -> str:
    """The message for a damaged file; its log moves with it, for a stale log would damage the next file too."""
    aside = shlex.quote(str(path.parent / "broken"))
    move = f"mkdir -p {aside} && mv {shlex.quote(str(path))}* {aside}/"
    return f"{path} is damaged ({what}); move it aside with `{move}` and run again: samples will be drawn again"


def _no_room(path: Path, what: object) -> str:
    return (
        f"cannot write {path} ({what}); free some space or fix its permissions and run again; nothing finished is lost"
    )


def _explanation(path: Path, error: sqlite3.DatabaseError) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by Python itself, when text in the file is not UTF-8
        return corrupt(path, error)
    match code & 0xFF:
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return corrupt(path, error)
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN:
            return _no_room(path, error)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} was locked by another process for {BUSY_SECONDS:.0f} s; end that process and run again"
    return f"cannot use {path} ({error}); set POSTTRAIN_CACHE to another directory or move the file aside"


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # Two processes that create the file together collide here, and SQLite does not apply its busy timeout.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _prepare(connection: sqlite3.Connection, path: Path, schemas: Sequence[str]) -> None:
    with transaction(connection):
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found > len(schemas):
            raise StoreError(
                f"{path} was written by a newer posttrain (schema {found}, this one knows {len(schemas)}); "
                "upgrade posttrain, or set POSTTRAIN_CACHE to another directory"
            )
        for schema in schemas[found:]:
            for statement in schema.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(schemas)}")
