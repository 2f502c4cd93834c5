"""The adapter of a hosted policy: through the SDK from a loopback service, its files from a storage beside it."""

import asyncio
import json
import logging
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from peft import PeftModel
from safetensors.torch import load_file
from tinker.lib.internal_client_holder import sessionless_holder_cache

from posttrain.cli import main
from posttrain.engine.hosted.engine import HostedEngine
from posttrain.engine.local.adapter import load_checkpoint
from posttrain.engine.local.load import load_model
from posttrain.errors import EngineError, InfrastructureError
from posttrain.export import download
from posttrain.export.download import check_adapter, download_adapter, fetch_files
from posttrain.train.checkpoint import Checkpoint, write_checkpoint
from tests.engine.hosted import SERVICE, count, opened, point_to
from tests.export.place import LINEAGE, adapter_json, link_models, make_place, trained
from tests.export.storage import SIGNATURE, Storage, exporting, storing
from tests.loopback.server import Loopback
from tests.tiny import ids, settings, tiny_engine

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.01)
    with storing() as running:
        monkeypatch.setenv("TINKER_BASE_URL", running.url)  # plain http is fine beside a service of one's own
        running.files = {CONFIG: b"{}", WEIGHTS: b"weights"}
        yield running


@pytest.fixture(scope="module")
def loopback() -> Iterator[Loopback]:
    with pytest.MonkeyPatch.context() as patch, storing() as storage, exporting(patch, storage) as running:
        yield running


@pytest.fixture
def server(loopback: Loopback, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    link_models(cache)
    point_to(monkeypatch, loopback.url)
    # The SDK's REST client keeps to the first address that a process has used, and here others were used before.
    monkeypatch.setattr(sessionless_holder_cache, "_holders", {})
    return loopback


def folders(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def test_only_the_two_files_are_fetched_whatever_is_listed(storage: Storage, tmp_path: Path) -> None:
    evil = {"../evil": b"x", "/etc/evil": b"x", "a/../../evil": b"x", "evil\x00": b"x", "checkpoint_complete": b""}
    storage.files |= evil
    into = tmp_path / "deep" / "in"
    into.mkdir(parents=True)
    fetch_files(storage.urls(), into, SERVICE)
    assert folders(tmp_path) == {"deep", "deep/in", f"deep/in/{CONFIG}", f"deep/in/{WEIGHTS}"}
    assert set(storage.asked) == {CONFIG, WEIGHTS}
    assert (into / WEIGHTS).read_bytes() == b"weights"
    assert not any("key" in name.lower() or "tml-" in value for each in storage.headers for name, value in each.items())


def test_a_listing_without_them_is_refused(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"holds adapter_model\.bin and not adapter_config\.json"):
        fetch_files({"adapter_model.bin": storage.url}, tmp_path, SERVICE)


@pytest.mark.parametrize("announced", [None, 1 << 40])
def test_what_is_too_large_is_not_kept(
    announced: int | None, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(download.LIMITS, WEIGHTS, 1 << 20)
    storage.files[WEIGHTS] = bytes(3 << 20) if announced is None else b"few"
    storage.announced = {} if announced is None else {WEIGHTS: announced}
    with pytest.raises(EngineError, match=r"larger than the 1,048,576 bytes"):
        fetch_files(storage.urls(), tmp_path, replace(SERVICE, retries=0))
    assert not (tmp_path / WEIGHTS).exists() or (tmp_path / WEIGHTS).stat().st_size <= 1 << 20


def test_a_storage_that_recovers_is_asked_again(storage: Storage, tmp_path: Path) -> None:
    storage.failures = [503, 500]
    fetch_files(storage.urls(), tmp_path, SERVICE)
    assert storage.asked == {CONFIG: 3, WEIGHTS: 1}


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        ([503] * 9, InfrastructureError, "the storage answered 503"),
        ([403] * 9, EngineError, "the storage answered 403"),
        ("cut", InfrastructureError, "broke off (RemoteProtocolError)"),
        ("gone", InfrastructureError, "cannot be reached, or broke off (ConnectError)"),
        ("ftp", EngineError, "no https address"),
        ("file", EngineError, "no https address"),
    ],
)
def test_no_failure_tells_the_signature(
    failure: Any,
    kind: type[Exception],
    said: str,
    storage: Storage,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    urls = storage.urls()
    if isinstance(failure, list):
        storage.failures = failure
    elif failure == "cut":
        storage.announced = {CONFIG: 100}
    elif failure == "gone":
        urls = {name: url.replace("127.0.0.1", "127.0.0.1:1#") for name, url in urls.items()}
    else:
        urls = {name: url.replace("http:", f"{failure}:") for name, url in urls.items()}
    with caplog.at_level(logging.WARNING), pytest.raises(kind, match=re.escape(said)) as raised:
        fetch_files(urls, tmp_path, SERVICE)
    assert SIGNATURE not in str(raised.value) + caplog.text
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_plain_http_is_refused_beside_the_hosted_service(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINKER_BASE_URL")
    with pytest.raises(EngineError, match="no https address"):
        fetch_files(storage.urls(), tmp_path, SERVICE)
    assert not storage.asked


def tensors(name: str) -> bytes:
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4)


@pytest.mark.parametrize(
    ("config", "weights", "said"),
    [
        (b'{"peft_type": "LORA", "r": 8}', b"\x80\x04pickle", "cannot be read"),
        (b'{"peft_type": "LORA", "r": 8}', b"", "cannot be read"),
        (b'{"peft_type": "LORA", "r": 8}', tensors("model.embed.weight"), "holds no LoRA factors"),
        (b"[1]", tensors("a.lora_A.weight"), "describes no LoRA adapter"),
        (b'{"peft_type": "PROMPT_TUNING"}', tensors("a.lora_A.weight"), "describes no LoRA adapter"),
    ],
)
def test_what_is_no_adapter_is_refused(config: bytes, weights: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_bytes(config)
    (tmp_path / WEIGHTS).write_bytes(weights)
    with pytest.raises(EngineError, match=said):
        check_adapter(tmp_path, "org/base")


def saved_on(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    with opened(monkeypatch, server) as engine:
        return Checkpoint(LINEAGE, "GRPO step 4", asyncio.run(trained(engine, "made")))


def test_a_hosted_adapter_arrives_as_the_service_holds_it(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = saved_on(server, monkeypatch)
    assert checkpoint.saved is not None
    deleted, finished = count(server, "/{kind}/{name}"), count(server, "/finish")
    download_adapter(checkpoint.saved.state, "tiny", tmp_path, SERVICE)
    local = asyncio.run(trained(tiny_engine(), "same"))  # the loopback service computes what the local engine does
    wanted = load_checkpoint(Path(local.sampler), "sampler", "tiny").tensors
    found = load_file(tmp_path / WEIGHTS)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)
    assert adapter_json(tmp_path)["base_model_name_or_path"] == "tiny"
    assert count(server, "/{kind}/{name}") == deleted + 1  # the copy for downloading is gone again
    assert count(server, "/finish") == finished + 1  # and so is the session


def test_the_command_writes_a_hosted_policy_that_loads(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_place(tmp_path / "place", tiny_engine())
    monkeypatch.chdir(tmp_path / "place")
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["engine"]["name"], params["prices"]["model"] = "tinker", "tiny"
    Path("params.yaml").write_text(yaml.safe_dump(params))
    hosted = HostedEngine("tiny", SERVICE)
    write_checkpoint(hosted, Checkpoint(hosted.base_lineage, "base", None), Path("models/base"))
    write_checkpoint(hosted, saved_on(server, monkeypatch), Path("models/grpo_best"))
    assert main(["export", "agent"]) == 0
    with torch.no_grad():
        tokens = torch.tensor([ids(20)])
        plain = load_model(settings()).causal
        before = plain(input_ids=tokens).logits
        after = PeftModel.from_pretrained(plain, "agent")(input_ids=tokens).logits
    assert (after - before).abs().max() > 1
    assert "trained on Tinker, a hosted service" in Path("agent/README.md").read_text()
    capsys.readouterr()
    assert main(["export", "full", "--merged"]) == 1
    assert "leave out --merged" in capsys.readouterr().err
    server.forget(json.loads(Path("models/grpo_best/checkpoint.json").read_text())["saved"]["state"])
    assert main(["export", "gone"]) == 1
    said = capsys.readouterr().err
    assert "not found (404)" in said
    assert not Path("gone").exists()


@pytest.mark.usefixtures("server")
def test_a_checkpoint_of_another_kind_or_model_is_refused(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(EngineError, match="can only be sampled from"):
        download_adapter("tinker://run/sampler_weights/a", "tiny", into, SERVICE)
    with pytest.raises(EngineError, match="does not offer other"):
        download_adapter("tinker://run/weights/a", "other", into, SERVICE)
    assert folders(into) == set()
