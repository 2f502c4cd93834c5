"""Every test has a cache directory of its own; the converted embedded model alone is taken from the user's."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from posttrain.ledger.places import default_path
from tests.project import Project, copy_project
from tests.smoke import run_once

os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as stations do, before torch is loaded
USERS_CACHE = default_path()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, each for a worker of its own: the rest is done meanwhile and after."""
    longest = ["test_smoke", "test_smoke_hosted"]
    items.sort(key=lambda item: longest.index(item.path.stem) if item.path.stem in longest else len(longest))


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Project]:
    """Gives the repository in which the whole pipeline has run once, made when it is first asked for."""
    own = tmp_path_factory.getbasetemp()
    return partial(run_once, own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POSTTRAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def converted() -> None:
    """The user's cache holds the embedded model, so that no command of a test says that it converts it."""
    from posttrain.engine.local.load import EMBEDDED, model_folder  # takes seconds, and few of the tests need it

    model_folder(EMBEDDED)


@pytest.fixture
def embedded_model(monkeypatch: pytest.MonkeyPatch, converted: None) -> str:  # noqa: ARG001
    """The embedded model's name."""
    monkeypatch.setenv("POSTTRAIN_CACHE", str(USERS_CACHE))
    return "smollm2-135m-instruct"


@pytest.fixture
def project(tmp_path: Path, converted: None) -> Project:  # noqa: ARG001
    """A copy of the repository on the smoke profile, without data, with the cache that the test has."""
    return copy_project(tmp_path)
