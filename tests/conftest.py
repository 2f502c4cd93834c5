"""Every test has a cache directory of its own; the converted embedded model alone is taken from the user's."""

import os
from pathlib import Path

import pytest

from posttrain.ledger.places import default_path
from tests.project import Project, copy_project

os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as stations do, before torch is loaded
USERS_CACHE = default_path()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTTRAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def embedded_model(monkeypatch: pytest.MonkeyPatch) -> str:
    """The embedded model's name; the user's cache holds it after its first conversion."""
    monkeypatch.setenv("POSTTRAIN_CACHE", str(USERS_CACHE))
    return "smollm2-135m-instruct"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A copy of the repository on the smoke profile, without data, with the cache that the test has."""
    return copy_project(tmp_path)
