"""Rules that the whole pipeline keeps: what a stage declares is what it reads, and imports run one way."""

import ast
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from dvc.dependency import ParamsDependency
from dvc.repo import Repo

from posttrain.closure import import_closure
from posttrain.pipeline_deps import is_code
from posttrain.profiles import check_same_keys, names
from posttrain.wiki.params import check_params
from tests.project import ROOT

SOURCE = ROOT / "src"
PACKAGE = SOURCE / "posttrain"
LAYERS = (
    {"errors"},
    {"files", "pipeline", "progress", "closure", "stale", "terminal", "hub"},
    {"settings", "pager", "dvc_files"},
    {"sections"},
    {"ledger", "stats"},
    {"chat", "engine"},
    {"doctor", "export", "track", "report"},
    {"rollout"},
    {"train"},
    {"euler", "wiki"},
)
"""Each imports itself and what lies in front of it, never a neighbour."""
ENTRANCES = {"cli", "commands", "station", "paid", "profiles", "pipeline_deps", "arguments"}
"""Only stages, and these, import these."""

COMMITTED = ("metrics/", "report.md", "euler/metrics/", "euler/climb/")


@dataclass(frozen=True)
class Stage:
    """One stage as DVC sees it, templates filled in."""

    name: str
    folder: Path
    words: list[str]
    deps: set[str]
    params: set[str]
    outs: set[str]
    committed: dict[str, bool]
    """What stands under metrics/ and in report.md, and whether DVC would cache it."""

    @property
    def closure(self) -> list[Path]:
        return import_closure(self.folder / next(word for word in self.words if is_code(word)), SOURCE)


@cache
def stages() -> list[Stage]:
    with Repo(str(ROOT)) as repo:
        found = []
        for stage in repo.index.stages:
            declared = [dep for dep in stage.deps if isinstance(dep, ParamsDependency)]
            folder = Path(stage.wdir)
            deps = {os.path.relpath(folder / dep.def_path, ROOT) for dep in stage.deps if dep not in declared}
            made = {os.path.relpath(folder / out.def_path, ROOT): out.use_cache for out in stage.outs}
            committed = {path: cached for path, cached in made.items() if path.startswith(COMMITTED)}
            outs = set(made) - set(committed)
            params = {key for dep in declared for key in dep.params}
            found.append(Stage(stage.addressing, folder, str(stage.cmd).split(), deps, params, outs, committed))
    return found


def test_the_pipeline_has_its_stages() -> None:
    known = {stage.name for stage in stages()}
    assert {"prep", "index", "closed_book", "base", "sft", "grpo", "ablation", "report"} <= known
    assert {"test@base", "score_test@grpo_budget2", "eval_sft@1"} <= known


def test_code_deps_are_the_import_closure() -> None:
    for stage in stages():
        assert {dep for dep in stage.deps if is_code(dep)} == {str(path.relative_to(ROOT)) for path in stage.closure}, (
            f"{stage.name}: run `posttrain deps --write`"
        )


def test_declared_params_are_those_that_are_read() -> None:
    for stage in stages():
        read = {key for path in stage.closure for key in _read(path, stage.words)}
        assert stage.params == read, stage.name


def _read(path: Path, words: list[str]) -> Iterator[str]:
    """Keys that a file's `load("section", Class)` reads; a section not written there is the command's last word.

    What is read with `changes_results=False` is nobody's dep.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load"):
            continue
        if any(keyword.arg == "changes_results" for keyword in node.keywords):
            continue
        section, cls = node.args[:2]
        named = str(section.value) if isinstance(section, ast.Constant) else words[-1]
        if any(keyword.arg == "partial" for keyword in node.keywords):
            assert isinstance(cls, ast.Name)
            yield from (f"{named}.{field}" for field in _fields(tree, cls.id))
        else:
            yield named


def _fields(tree: ast.Module, cls: str) -> list[str]:
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls)
    return [node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]


def test_imports_run_one_way() -> None:
    for path in PACKAGE.rglob("*.py"):
        part = _part(path)
        for imported in _imports(path):
            assert imported.split(".")[0] != "stages", path
            if not imported.startswith("posttrain.") or (other := imported.split(".")[1]) == part:
                continue
            where = f"{path.relative_to(ROOT)} imports {imported}"
            if part in ENTRANCES:
                assert part == "commands" or other not in ("wiki", "euler"), where
            else:
                assert other not in ENTRANCES, where
                assert _layer(other) < _layer(part), where


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _layer(part: str) -> int:
    found = [level for level, parts in enumerate(LAYERS) if part in parts]
    assert found, f"{part} has no place in LAYERS"
    return found[0]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "posttrain":
                yield from (f"posttrain.{alias.name}" for alias in node.names)
            else:
                yield str(node.module)


def test_packages_hold_no_code() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        assert not path.read_text(), path


def test_profiles_hold_the_same_settings_and_all_are_possible() -> None:
    assert {"smoke", "mini"} <= set(names(ROOT))
    check_same_keys(ROOT)
    for name in names(ROOT):
        check_params(ROOT / "profiles" / f"{name}.yaml")


def test_params_start_as_mini() -> None:
    assert (ROOT / "params.yaml").read_text() == (ROOT / "profiles/mini.yaml").read_text()


def test_outs_are_ignored_by_git_and_metrics_are_committed() -> None:
    outs = sorted({out for stage in stages() for out in stage.outs})
    committed = sorted({out for stage in stages() for out in stage.committed})
    assert _ignored(outs) == outs
    assert _ignored(committed) == []
    assert [out for stage in stages() for out, cached in stage.committed.items() if cached] == []


def _ignored(paths: list[str]) -> list[str]:
    command = ["git", "check-ignore", "--no-index", *paths]
    return sorted(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines())


@pytest.mark.parametrize("name", ["prep", "index", "closed_book", "base", "sft", "grpo", "ablation"])
def test_each_station_has_its_metrics_file(name: str) -> None:
    assert any(f"metrics/{name}.json" in stage.committed for stage in stages())
