"""A sampled round from the place where a killed stage goes on, to the pipeline's output."""

import shutil
import tempfile
from pathlib import Path


def publish(folder: Path, out: Path) -> None:
    """Puts a copy of `folder` in the place of `out`, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as temporary:
        made = Path(temporary) / "made"
        shutil.copytree(folder, made)
        if out.exists():
            out.rename(Path(temporary) / "replaced")
        made.rename(out)
