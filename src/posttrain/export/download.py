"""A hosted checkpoint's adapter, fetched from the service as peft's two files and nothing else."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
from safetensors import SafetensorError, safe_open
from tinker import RestClient, ServiceClient

from posttrain.engine.hosted.address import base_url
from posttrain.engine.hosted.pointers import check_kind
from posttrain.engine.hosted.preflight import SECONDS, bounded, preflight
from posttrain.engine.settings import ServiceSettings
from posttrain.errors import EngineError, InfrastructureError, PosttrainError
from posttrain.export.adapter import CONFIG, WEIGHTS, check_config
from posttrain.files import read_json, write_json
from posttrain.progress import Progress

LIMITS = {CONFIG: 1 << 20, WEIGHTS: 16 << 30}
"""Bytes that each file may have at most; an adapter of rank 32 on a 4B model has about 0.3 GB."""
NAME, TTL_SECONDS = "posttrain-export", 3600
"""Of the copy that the service makes for downloading; an hour is the shortest time that it takes."""
CHUNK = 1 << 20
PAUSE_SECONDS = 2.0


def download_adapter(path: str, model: str, folder: Path, service: ServiceSettings) -> None:
    """Puts the adapter of a `tinker://…/weights/…` checkpoint of `model` into `folder`.

    Sampler checkpoints cannot be downloaded, so the service loads the state and saves it in peft's format, which begins
    a session and costs no tokens. That copy is deleted afterwards, and expires within the hour in any case.

    Raises:
        EngineError: the checkpoint is gone or of another model, or what came is no adapter.
        InfrastructureError: the service or the network failed.
    """
    check_kind(path, "state")
    preflight(model)
    _check_model(path, model)
    with _session() as client:
        exported = bounded(lambda: _save_external(client, path), service.timeout_s, f"exporting {path}")
        try:
            signed = bounded(
                lambda: _rest().get_external_weights_urls(exported).result(), SECONDS, "asking for addresses"
            )
            fetch_files(signed.urls, folder, service)
        finally:
            _delete(exported)
    check_adapter(folder, model)


def fetch_files(urls: Mapping[str, str], folder: Path, service: ServiceSettings) -> None:
    """Downloads an adapter's two files by signed addresses; what else the service lists is left alone.

    Names that the service gives are never used as paths, so none can lead out of `folder`.

    Raises:
        EngineError: one of the two is not offered, or larger than it may be.
        InfrastructureError: the download failed after its retries.
    """
    for name, limit in LIMITS.items():
        if name not in urls:
            listed = ", ".join(sorted(urls)[:5]) or "nothing"
            raise EngineError(f"the service's export holds {listed} and not {name}, so it is no peft adapter")
        _fetch(urls[name], folder / name, limit, service)


def check_adapter(folder: Path, model: str) -> None:
    """Reads both files as peft will, and names the base model in the config.

    Raises:
        EngineError: they are no LoRA adapter.
    """
    config = check_config(read_json(folder / CONFIG), Path(CONFIG))
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as weights:
            names = list(weights.keys())
    except (OSError, SafetensorError) as error:
        raise EngineError(f"the {WEIGHTS} that the service sent cannot be read ({error}); run it again") from error
    if not any(".lora_A." in name for name in names):
        raise EngineError(f"the {WEIGHTS} that the service sent holds no LoRA factors; run it again")
    write_json(folder / CONFIG, {**config, "base_model_name_or_path": model, "inference_mode": True})


def _check_model(path: str, model: str) -> None:
    info = bounded(lambda: _rest().get_weights_info_by_tinker_path(path).result(), SECONDS, f"asking for {path}")
    if info.base_model != model:
        raise EngineError(f"{path} belongs to {info.base_model}, not to engine.model {model}")


@contextmanager
def _session() -> Iterator[ServiceClient]:
    """A session on the service, ended whatever happens; failing to end it is no failure of the export."""
    client = ServiceClient(user_metadata={"made_by": "posttrain export"})
    try:
        yield client
    finally:
        try:
            bounded(lambda: client.close("success").result(), SECONDS, "closing the session")
        except PosttrainError as error:
            print(f"the session was not ended ({error}); it ends by itself", file=sys.stderr)


def _rest() -> RestClient:
    return RestClient(base_url=base_url())  # else it keeps to the first address that this process has used


def _save_external(client: ServiceClient, path: str) -> str:
    trainer = client.create_training_client_from_state(path).result()
    return str(trainer.save_weights_external(NAME, ttl_seconds=TTL_SECONDS).result().path)


def _delete(exported: str) -> None:
    try:
        bounded(lambda: _rest().delete_checkpoint_from_tinker_path(exported).result(), SECONDS, f"deleting {exported}")
    except PosttrainError as error:
        print(f"{error}; it expires by itself within {TTL_SECONDS // 60} minutes", file=sys.stderr)


def _fetch(url: str, out: Path, limit: int, service: ServiceSettings) -> None:
    """Tries as often as a request is tried. An address is signed, so no message may hold it, nor an error of httpx."""
    failure = InfrastructureError(f"downloading {out.name}: not tried")
    for attempt in range(service.retries + 1):
        try:
            _stream(url, out, limit, service.timeout_s)
            return
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            failure = InfrastructureError(
                f"downloading {out.name}: the storage cannot be reached, or broke off ({type(error).__name__}); check "
                "the network and run it again"
            )
        except InfrastructureError as error:
            failure = error
        if attempt < service.retries:
            time.sleep(PAUSE_SECONDS * 2**attempt)
    raise failure


def _stream(url: str, out: Path, limit: int, seconds: float) -> None:
    allowed = ("https://", "http://") if base_url().startswith("http://") else ("https://",)
    if not url.startswith(allowed):
        raise EngineError(f"the service gives no https address for {out.name}; it is not downloaded")
    with httpx.stream("GET", url, timeout=seconds) as response:
        if response.status_code != httpx.codes.OK:
            failed = f"downloading {out.name}: the storage answered {response.status_code}; run it again"
            raise (InfrastructureError if response.status_code >= 500 else EngineError)(failed)
        total, size = int(response.headers.get("content-length", 0)), 0
        if total > limit:
            raise _too_large(out, limit)
        with Progress(out.name, -(-total // CHUNK) or None, "MiB") as progress, out.open("wb") as file:
            for chunk in response.iter_bytes(CHUNK):
                size += len(chunk)
                if size > limit:
                    raise _too_large(out, limit)
                file.write(chunk)
                progress.advance()


def _too_large(out: Path, limit: int) -> EngineError:
    return EngineError(f"{out.name} is larger than the {limit:,} bytes that it may have; it is not kept")
