"""The settings of the sandbox: which kind, from where its programs come, and the limits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from posttrain.errors import SettingsError
from posttrain.euler.sandbox.engine import Engine
from posttrain.euler.sandbox.protocol import Limits

_MIB, _KIB = 2**20, 2**10
_LEAST_PIDS = 16
"""node alone starts eleven threads."""


@dataclass(frozen=True)
class SandboxSettings:
    """See `params.yaml`; sizes say their unit."""

    kind: Literal["auto", "bubblewrap", "docker"]
    root: str
    """For bubblewrap: a folder with usr/, whose programs are used; "/" for this machine's."""
    engine: tuple[str, ...]
    """For docker: the engine's command."""
    image: str
    """For docker: NAME@sha256:DIGEST, or empty if it is not used."""
    wall_seconds: float
    cpu_seconds: int
    memory_mib: int
    pids: int
    output_kib: int
    file_mib: int
    workspace_mib: int
    workspace_inodes: int

    def check(self) -> None:
        for name in ("wall_seconds", "cpu_seconds", "memory_mib", "output_kib", "file_mib", "workspace_mib"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name}: must be above 0, is {getattr(self, name)}")
        for name, least in (("pids", _LEAST_PIDS), ("workspace_inodes", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"{name}: must be at least {least}, is {getattr(self, name)}")
        if not Path(self.root).is_absolute():
            raise SettingsError(f"root: must be an absolute path with usr/ in it, is {self.root!r}")
        if not self.engine:
            raise SettingsError('engine: must be a command, as ["docker"]')
        if self.kind == "docker" or self.image:
            Engine(self.engine, self.image).check()

    @property
    def limits(self) -> Limits:
        return Limits(
            wall_seconds=self.wall_seconds,
            cpu_seconds=self.cpu_seconds,
            memory_bytes=self.memory_mib * _MIB,
            pids=self.pids,
            output_bytes=self.output_kib * _KIB,
            file_bytes=self.file_mib * _MIB,
            workspace_bytes=self.workspace_mib * _MIB,
            workspace_inodes=self.workspace_inodes,
        )
