"""The command lines of a container engine: Docker, or podman where it stands in for it."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import SettingsError
from posttrain.euler.sandbox.child import call
from posttrain.euler.sandbox.command import INSIDE, NO_CORE, OPEN_FILES, STARTED, USER
from posttrain.euler.sandbox.protocol import Limits

LABEL = "posttrain.sandbox"
KEEPER = 65532
"""Who the first process is: another user than the program, which therefore cannot touch it."""
FOLDER_PREFIX = "rootfs:"
_PINNED = re.compile(r"[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}", re.ASCII)
_END_ALL = """
for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r $file ] && while read -r name count; do echo "$name $count"; done < $file
done
kill -9 -1
echo over
"""
"""Tells how often memory ran out, and ends all processes of the program's user but this one, all at one moment."""


_NEEDED = (
    "PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF",
)  # fmt: skip


def environment() -> dict[str, str]:
    """What an engine's client needs to find its engine, and nothing else of ours."""
    return {name: os.environ[name] for name in _NEEDED if name in os.environ}


@dataclass(frozen=True)
class Engine:
    """How containers are started, and from what."""

    words: tuple[str, ...]
    """The engine's own command: `docker`, or podman with its global options."""
    image: str
    """NAME@sha256:DIGEST; for podman also rootfs:FOLDER."""

    def check(self) -> None:
        """Refuses an image that could change between two runs.

        Raises:
            SettingsError: it is not pinned by its digest.
        """
        if self.is_podman and self.image.startswith(f"{FOLDER_PREFIX}/"):
            return
        if not _PINNED.fullmatch(self.image):
            raise SettingsError(
                f"image: {self.image!r} must be pinned by digest, NAME@sha256:…; `docker images --digests` shows it"
            )

    @property
    def is_podman(self) -> bool:
        return Path(self.words[0]).name == "podman"

    def call(self, command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
        """Runs one of the commands below; see `child.call`."""
        return call(command, environment(), seconds)

    def run(self, name: str, owner: str, limits: Limits, profile: Path) -> list[str]:
        """Starts the container. Its first process only waits for the end of stdin, so it ends with this program."""
        folder = self.image.removeprefix(FOLDER_PREFIX)
        source = ["--rootfs", folder] if folder != self.image else ["--pull", "never", self.image]
        own = _PODMAN if self.is_podman else ()
        # podman 4.3 knows neither of these; its folder has to let everyone write.
        more = "" if self.is_podman else f",nr_inodes={limits.workspace_inodes},uid={USER},gid={USER}"
        kept = f"rw,exec,nosuid,nodev,mode=0777,size={limits.workspace_bytes}{more}"
        memory = str(limits.memory_bytes + limits.workspace_bytes)
        proxies = [word for name in _PROXIES for word in ("--env", f"{name}=", "--env", f"{name.upper()}=")]
        return [
            *self.words, "run", "--rm", "--interactive", "--init", "--name", name, "--label", f"{LABEL}={owner}",
            "--log-driver", "none", "--network", "none", "--ipc", "private", "--read-only", *own,
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", f"seccomp={profile}",
            "--cpus", "1", "--memory", memory, "--memory-swap", memory,
            "--pids-limit", str(limits.pids + _OWN), "--shm-size", str(limits.workspace_bytes),
            "--ulimit", f"cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}",
            "--ulimit", f"fsize={limits.file_bytes}:{limits.file_bytes}",
            "--ulimit", f"nofile={OPEN_FILES}:{OPEN_FILES}",
            "--ulimit", f"core={NO_CORE}:{NO_CORE}", "--ulimit", "msgqueue=0:0", "--ulimit", "memlock=0:0", *proxies,
            "--tmpfs", f"/workspace:{kept}", "--tmpfs", f"/tmp:{kept}",
            "--user", f"{KEEPER}:{KEEPER}", "--workdir", "/workspace", "--entrypoint", "cat", *source,
        ]  # fmt: skip

    def execute(self, name: str, argv: Sequence[str], mark: str) -> list[str]:
        """Runs a program inside; `mark` on stderr says that it was started."""
        # Where the image's languages lie, only its own PATH says.
        names = [name for name in INSIDE if name != "PATH"]
        environment = [word for name in names for word in ("--env", f"{name}={INSIDE[name]}")]
        user = ["--user", f"{USER}:{USER}", "--workdir", "/workspace"]
        return [*self.words, "exec", "--interactive", *user, *environment, name, "sh", "-c", STARTED, "sh", mark, *argv]

    def end_all(self, name: str) -> list[str]:
        """Ends what the program's user still has running, and tells what the container's control group counted."""
        return [*self.words, "exec", "--user", f"{USER}:{USER}", name, "sh", "-c", _END_ALL]

    def inspect(self, name: str) -> list[str]:
        """Prints the container's id."""
        return [*self.words, "inspect", "--format", "{{.Id}}", name]

    def was_out_of_memory(self, name: str) -> list[str]:
        """Prints "true" if the kernel ended a process of the container because its memory was full."""
        return [*self.words, "inspect", "--format", "{{.State.OOMKilled}}", name]

    def remove(self, *names: str) -> list[str]:
        """Ends containers and removes them."""
        return [*self.words, "rm", "--force", "--volumes", *names]

    def labelled(self) -> list[str]:
        """Prints the ids of all containers that this project started, also stopped ones."""
        return [*self.words, "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={LABEL}"]

    def owner(self, container: str) -> list[str]:
        """Prints who started a container."""
        return [*self.words, "inspect", "--format", f'{{{{index .Config.Labels "{LABEL}"}}}}', container]


_OWN = 4
"""Processes that are not the program's: the first, the one that waits, and the one that is started to end it."""
_PODMAN = ("--read-only-tmpfs=false", "--http-proxy=false", "--ulimit", "nproc=4096:4096")
"""Its own defaults: memory over /tmp, our proxies, and a number of processes that not every user may set."""
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
"""Engines hand these on by themselves, and an address can hold a password."""
