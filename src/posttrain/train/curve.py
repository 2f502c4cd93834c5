"""A training curve as a CSV file that is whole after every step, for DVC's plots and for reading."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posttrain.files import write_text


class Curve:
    """One row per step; the first row fixes the columns. `send` is handed each row too, as a tracker's is."""

    def __init__(self, path: Path, send: Callable[[dict[str, Any]], None] | None = None) -> None:
        self._path, self._send = path, send
        self.rows: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any]) -> None:
        """Appends a row and rewrites the file; numbers keep 6 significant digits."""
        self.rows.append(row)
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        for each in self.rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in each.items()})
        write_text(self._path, out.getvalue())
        if self._send is not None:
            self._send(row)
