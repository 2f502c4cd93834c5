"""Every call that the hosted engine makes on the SDK fits the SDK that is installed, and none is deprecated."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tinker

from tests.project import ROOT

CLIENTS = (tinker.ServiceClient, tinker.TrainingClient, tinker.SamplingClient, tinker.RestClient)
OWN = {"sample", "close", "sampler", "holder"}
"""Names that our own protocol has too; they count only on an object that is the SDK's."""
USED = {
    "create_sampling_client",
    "create_lora_training_client",
    "create_training_client_from_state",
    "create_training_client_from_state_with_optimizer",
    "forward_backward",
    "optim_step",
    "save_state",
    "save_weights_for_sampler",
    "save_weights_and_get_sampling_client",
    "sample",
    "close",
    "get_base_model",
    "get_info",
    "list_checkpoints",
    "set_checkpoint_ttl_from_tinker_path",
    "get_server_capabilities",
    "_check_accessible",
}


def calls() -> Iterator[tuple[str, str, list[ast.expr], list[ast.keyword]]]:
    """Place, name and arguments of each call of a client's method, also through `asyncio.to_thread`."""
    for path in sorted((ROOT / "src/posttrain").rglob("*.py")):
        if "hosted" not in path.parts and "export" not in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            function, arguments = node.func, list(node.args)
            if function.attr == "to_thread" and arguments and isinstance(arguments[0], ast.Attribute):
                function, arguments = arguments[0], arguments[1:]
            owner = ast.unparse(function.value)
            theirs = "client" in owner or owner in {"opened", "service", "rest"} or "RestClient(" in owner
            if (function.attr not in OWN or theirs) and any(hasattr(one, function.attr) for one in CLIENTS):
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield where, function.attr, arguments, node.keywords


def public(path: Path) -> Iterator[str]:
    """Names that a file takes from the SDK's package itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "tinker":
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tinker":
            yield node.attr


def test_every_call_binds_and_none_is_deprecated() -> None:
    for where, name, arguments, keywords in calls():
        fits: list[Any] = []
        for client in CLIENTS:
            method: Any = getattr(client, name, None)
            if method is None:
                continue
            try:
                inspect.signature(method).bind(None, *arguments, **{str(k.arg): k.value for k in keywords})
            except TypeError:
                continue
            fits.append(method)
        assert fits, f"{where}: {name} does not take these arguments in SDK {tinker.__version__}"
        assert not all(hasattr(method, "__deprecated__") for method in fits), f"{where}: {name} is deprecated"


def test_no_call_is_overlooked() -> None:
    assert {name for _, name, _, _ in calls()} >= USED


def test_the_names_taken_from_the_sdk_are_there() -> None:
    names = {name for path in (ROOT / "src/posttrain").rglob("*.py") for name in public(path)}
    assert {"Datum", "ServiceClient", "AuthenticationError"} <= names
    for name in names:
        assert hasattr(tinker, name), name


def test_a_call_that_does_not_fit_would_be_noticed() -> None:
    with pytest.raises(TypeError):
        inspect.signature(tinker.SamplingClient.sample).bind(None, "prompt", 1, "params", wrong=1)
