"""Which sandbox holds the programs on this machine. If none does, none is run: the bare machine is never used."""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from posttrain.errors import InfrastructureError
from posttrain.euler.sandbox.protocol import Kind, RefusedFile, Sandbox, Status
from posttrain.euler.sandbox.settings import SandboxSettings

_OLDEST_KERNEL = (5, 14)
"""From then on the number of processes is counted for each user namespace by itself."""
_PROGRAMS = ("bwrap", "unshare", "nsenter", "setpriv", "prlimit")
_INSTALL = "`apt install bubblewrap` brings one, 0.8 or newer"


def open_sandbox(settings: SandboxSettings) -> Sandbox:
    """The sandbox of the kind that is set; with "auto" bubblewrap if it works, else containers. It has been tried.

    Raises:
        InfrastructureError: none works; the message says why, and what to install.
        SettingsError: the image is not pinned.
    """
    refused = []
    for kind in kinds(settings):
        try:
            sandbox = _OPENERS[kind](settings)
            _check(sandbox)
        except InfrastructureError as error:
            refused.append(f"{kind}: {error}")
        else:
            return sandbox
    raise InfrastructureError(
        f"no sandbox works here, and what a model wrote is not run without one ({'; '.join(refused)}); {_INSTALL}"
    )


def available(settings: SandboxSettings) -> dict[Kind, str]:
    """Each kind that `settings` allow, with what keeps it from working, or nothing if `true` has run in it."""
    found: dict[Kind, str] = {}
    for kind in kinds(settings):
        try:
            _check(_OPENERS[kind](settings))
        except InfrastructureError as error:
            found[kind] = str(error)
        else:
            found[kind] = ""
    return found


def kinds(settings: SandboxSettings) -> list[Kind]:
    """The kinds to try, in this order; containers only with an image."""
    if settings.kind != "auto":
        return [settings.kind]
    return ["bubblewrap", "docker"] if settings.image else ["bubblewrap"]


def _check(sandbox: Sandbox) -> None:
    with sandbox.workspace() as workspace:
        try:
            workspace.write("probe", b"true")
            done = workspace.run(["true"])
            kept = workspace.read("probe")
        except RefusedFile as error:
            raise InfrastructureError(f"no file can be kept in it: {error}") from error
        if done.status is not Status.FINISHED or kept != b"true":
            raise InfrastructureError(f"`true` gave exit code {done.exit_code} in it: {done.stderr.strip()}")


def _bubblewrap(settings: SandboxSettings) -> Sandbox:
    from posttrain.euler.sandbox.bubblewrap import Bubblewrap
    from posttrain.euler.sandbox.cgroup import find_parent
    from posttrain.euler.sandbox.holder import PROGRAMS

    if missing := [name for name in _PROGRAMS if not shutil.which(name, path=PROGRAMS["PATH"])]:
        raise InfrastructureError(f"{', '.join(missing)} is missing: `apt install bubblewrap util-linux`")
    release = tuple(int(part) for part in platform.release().split(".")[:2])
    if release < _OLDEST_KERNEL:
        raise InfrastructureError(f"Linux {platform.release()} is too old, it takes 5.14: set sandbox.kind to docker")
    return Bubblewrap(Path(settings.root), settings.limits, find_parent())


def _docker(settings: SandboxSettings) -> Sandbox:
    from posttrain.euler.sandbox.docker import Docker
    from posttrain.euler.sandbox.engine import Engine
    from posttrain.euler.sandbox.leftovers import clean

    engine = Engine(settings.engine, settings.image)
    engine.check()
    clean(engine)
    return Docker(engine, settings.limits)


_OPENERS: dict[Kind, Callable[[SandboxSettings], Sandbox]] = {"bubblewrap": _bubblewrap, "docker": _docker}
