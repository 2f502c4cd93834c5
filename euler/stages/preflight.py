"""Tries sandbox, runtimes, Pi and policy before anything is sampled; runs/preflight.json says what was found."""

from pathlib import Path

from posttrain import station
from posttrain.euler.machine import try_machine
from posttrain.euler.policies import PI, open_speaker
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.euler.settings import FanoutSettings
from posttrain.files import write_json
from posttrain.settings import load


def main() -> None:
    machine, probes = try_machine(load("sandbox", SandboxSettings), load("fanout", FanoutSettings).languages, PI)
    with open_speaker() as speaker:
        found = {
            "sandbox": machine.sandbox.kind,
            "runtimes": {probe.language: probe.version for probe in probes},
            "node": machine.pi.node_version,
            "pi_lock_sha256": machine.pi.lock_sha256,
            "model": speaker.model,
            "revision": speaker.revision,
        }
    write_json(Path("runs/preflight.json"), found)


if __name__ == "__main__":
    station.run("preflight", main, "posttrain.euler.params")
