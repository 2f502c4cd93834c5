"""Every sandbox that works here; they are opened once, as the first container takes seconds."""

import pytest

from posttrain.euler.sandbox.protocol import Sandbox
from tests.euler.sandboxes import need_bubblewrap, need_containers


@pytest.fixture(scope="session")
def bubblewrap() -> Sandbox:
    return need_bubblewrap()


@pytest.fixture(scope="session")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return need_containers(tmp_path_factory.mktemp("podman"))


@pytest.fixture(scope="session", params=["bubblewrap", "containers"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found: Sandbox = request.getfixturevalue(request.param)
    return found
