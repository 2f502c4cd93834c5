"""What the docs name is there."""

import importlib.util
import re
from pathlib import Path

import pytest

from posttrain.cli import COMMANDS
from tests.project import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    known = {module.__name__.rpartition(".")[2] for module in COMMANDS}
    named = set(re.findall(r"(?:^|`|\$ |&& )posttrain ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= known


def test_the_diagram_is_the_pipeline_s() -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs/pictures.py")
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert pictures.diagram() in (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), "run `make docs`"
