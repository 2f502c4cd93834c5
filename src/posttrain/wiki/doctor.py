"""The checks of `posttrain doctor` for this recipe: its settings, its data, and which of the others it needs."""

from functools import partial
from pathlib import Path
from typing import TypeVar

from posttrain.doctor.check import Check, Probe
from posttrain.doctor.machine import (
    disk_check,
    free_memory,
    memory_check,
    packages_check,
    python_check,
    total_memory,
)
from posttrain.doctor.model import local_model_check
from posttrain.doctor.project import repositories_check, store_check
from posttrain.engine.settings import EngineSettings
from posttrain.errors import DataError, SettingsError
from posttrain.files import read_json, sha256_file
from posttrain.ledger.places import default_path, samples_path
from posttrain.settings import load
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.doctor_hosted import hosted_probes
from posttrain.wiki.hotpot_hub import REPOSITORY, resolve
from posttrain.wiki.needs import needs_of
from posttrain.wiki.params import check_params
from posttrain.wiki.prep import HOTPOT_TEST_SHA256
from posttrain.wiki.questions import PREP

T = TypeVar("T")
_REMAKE = "`dvc checkout` brings the recorded one back, `dvc repro prep` makes it anew"


def probes(root: Path) -> list[Probe]:
    """The checks that the project's settings call for; what rests on a section that cannot be read is left out."""
    params = root / "params.yaml"
    engine, data = _section("engine", EngineSettings, params), _section("data", DataSettings, params)
    from_hub = data is not None and data.source == "hotpotqa"
    found = [
        Probe("python", python_check),
        Probe("packages", partial(packages_check, root, ["hub"] if from_hub else [])),
        Probe("repository", partial(repositories_check, root)),
        Probe("params", partial(params_check, params)),
        Probe("disk", lambda: disk_check(root, needs_of(params).project), ("params",)),
        Probe("cache disk", lambda: disk_check(default_path(), needs_of(params).cache), ("params",)),
        Probe("memory", lambda: memory_check(needs_of(params).memory, total_memory(), free_memory()), ("params",)),
        Probe("store", lambda: store_check(samples_path())),
    ]
    if engine is not None and engine.name == "local":
        found.append(Probe("model", partial(local_model_check, engine.model)))
    if engine is not None and engine.name == "tinker":
        found += hosted_probes(engine, root)
    if from_hub and data is not None:
        found.append(Probe("hub", partial(hub_check, data.revision or "", root)))
    if data is not None:
        found.append(Probe("data", partial(data_check, data.source, root)))
    return found


def _section(name: str, cls: type[T], params: Path) -> T | None:
    try:
        return load(name, cls, params)
    except SettingsError:  # the check of all settings says so
        return None


def params_check(params: Path) -> Check:
    check_params(params)
    return Check("ok", f"all settings of {params.name} are possible")


def hub_check(revision: str, root: Path) -> Check:
    """Whether the hub can be reached and has the pinned commit of HotpotQA."""
    try:
        commit = resolve(revision)
    except DataError as error:
        # Without the hub nothing can be prepared, but what is prepared stays.
        return Check("warn" if (root / PREP / "corpus.jsonl").exists() else "FAIL", str(error))
    if commit != revision:
        todo = f"set data.revision: {commit}, which cannot move"
        return Check("warn", f"{REPOSITORY} has {revision}, which is a branch or a tag", todo)
    return Check("ok", f"{REPOSITORY} at {revision}")


def data_check(source: str, root: Path) -> Check:
    """Whether the test questions are those that the results were, or will be, measured on."""
    test, metrics = root / PREP / "test.jsonl", root / "metrics" / "prep.json"
    if not test.exists():
        return Check("ok", f"none yet; `dvc repro prep` makes {PREP}")
    found = sha256_file(test)
    said = read_json(metrics) if metrics.exists() else {}
    if said.get("source", source) != source:
        return Check("ok", f"{PREP} was made from {said['source']}; `dvc repro` makes that of {source}")
    wanted = HOTPOT_TEST_SHA256 if source == "hotpotqa" else said.get("sha256", {}).get("test")
    shown = f"{test.relative_to(root)} has SHA-256 {found[:16]}"
    if wanted is None:
        return Check("warn", f"{shown}, and {metrics.relative_to(root)} does not say which it should have", _REMAKE)
    if not found.startswith(wanted):
        return Check("FAIL", f"{shown} and should have {wanted[:16]}; results on it cannot be compared", _REMAKE)
    return Check("ok", shown)
