"""Finds Pi and the Node that runs it, or says what to install."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.child import call
from posttrain.files import sha256_file

PACKAGE = "@mariozechner/pi-coding-agent"
VERSION = "0.73.1"
_OLDEST_NODE = (20, 6)


@dataclass(frozen=True)
class Pi:
    """cli, hook: what Node runs, and the extension with our tools. lock_sha256: of all that npm installed."""

    node: Path
    cli: Path
    hook: Path
    node_version: str
    lock_sha256: str


def find_pi(folder: Path) -> Pi:
    """Pi as `npm ci` put it into `folder`, which also holds the hook.

    Raises:
        InfrastructureError: Node or Pi is missing, or of another version.
    """
    folder = folder.resolve()  # Pi is started in another
    found = shutil.which("node")
    if found is None:
        raise InfrastructureError("node is missing: install Node.js 20.6 or newer with npm (`apt install nodejs npm`)")
    version = call([found, "--version"], {"PATH": "/usr/bin:/bin"}, 30).stdout.strip()
    numbers = tuple(int(part) for part in version.lstrip("v").split(".")[:2] if part.isdigit())
    if numbers < _OLDEST_NODE:
        raise InfrastructureError(f"{found} is {version or 'broken'}; Pi takes Node.js 20.6 or newer")
    package = folder / "node_modules" / PACKAGE / "package.json"
    try:
        installed = json.loads(package.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError) as error:
        raise InfrastructureError(f"Pi is not installed: run `npm ci --ignore-scripts` in {folder}") from error
    if installed != VERSION:
        raise InfrastructureError(f"Pi is {installed} and not {VERSION}: run `npm ci --ignore-scripts` in {folder}")
    lock = sha256_file(folder / "package-lock.json")
    return Pi(Path(found), package.parent / "dist" / "cli.js", folder / "hook.ts", version, lock)
