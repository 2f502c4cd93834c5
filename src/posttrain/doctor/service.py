"""Whether the hosted service, or a cluster at TINKER_BASE_URL, can be worked with: key, model, answer, checkpoints."""

import asyncio
import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from posttrain.doctor.check import Check
from posttrain.doctor.model import EMBEDDED, TINY, model_files
from posttrain.hub import SECONDS as HUB_SECONDS
from posttrain.hub import ask_hub

if TYPE_CHECKING:  # what imports the SDK is imported where it is used, so that its absence is one line of the report
    from posttrain.engine.protocol import Engine, SavedPaths

_KEY = re.compile(r"(tml-|eyJ)[\x21-\x7e]+")
_QUESTION, _ANSWER_TOKENS = "Say hello in one word.", 8
_SHOWN = 3


def key_check() -> Check:
    """Whether there is a key and it has a key's form; nothing is asked of anyone, and no command is run.

    The order is the SDK's: TINKER_API_KEY, TINKER_CREDENTIAL_CMD, what `tinker auth login` has stored.
    """
    from tinker.auth import get_tinker_token

    given, command = os.environ.get("TINKER_API_KEY", ""), os.environ.get("TINKER_CREDENTIAL_CMD", "")
    if _KEY.fullmatch(given):
        return Check("ok", "TINKER_API_KEY has the form of a key")
    if command:
        return Check("ok", "TINKER_CREDENTIAL_CMD is to print one; the next check runs it")
    if given:
        todo = "copy the whole key from the service's console, without quotes or spaces"
        return Check("FAIL", "TINKER_API_KEY does not have the form of a key (tml-… or eyJ…)", todo)
    stored = get_tinker_token()
    if stored is None:
        todo = "make one in the service's console and `export TINKER_API_KEY=…`, or run `tinker auth login`"
        return Check("FAIL", "there is no key", todo)
    if not _KEY.fullmatch(stored):
        return Check("FAIL", "the key that is stored does not have the form of a key", "run `tinker auth login` again")
    return Check("ok", "`tinker auth login` has stored a key")


def service_check(model: str) -> Check:
    """Whether the service answers, accepts the key and offers the model.

    Raises:
        EngineError, InfrastructureError: one of these is not so.
    """
    from posttrain.engine.hosted.address import shown_url
    from posttrain.engine.hosted.preflight import preflight

    preflight(model)
    return Check("ok", f"{shown_url()} accepts the key and offers {model}")


def tokenizer_check(model: str) -> Check:
    """Whether the model's tokenizer can be had, from the cache or the hub, and its chat template fits.

    Raises:
        DataError, EngineError: it cannot be had.
        TemplateError: its chat template does not fit.
    """
    if model not in (EMBEDDED, TINY) and model_files(model) is None:
        # Asked first: the loader itself would try for minutes.
        ask_hub(lambda hub: hub.model_info(model, timeout=HUB_SECONDS), model, "set engine.model to a folder with it")
    from posttrain.chat.format import ChatFormat
    from posttrain.engine.local.load import load_tokenizer

    ChatFormat.of(load_tokenizer(model))
    return Check("ok", f"that of {model} is here, and its chat template fits")


def answer_check(engine: "Engine") -> Check:
    """Whether the untrained model answers, with log probabilities.

    Raises:
        BudgetError: the few tokens could pass the cap.
        EngineError, InfrastructureError: there is no answer.
    """
    from tinker import ModelInput, SamplingParams

    from posttrain.chat.format import ChatFormat

    chat = ChatFormat.of(engine.tokenizer)

    async def ask() -> Any:
        sampler = await engine.base_sampler()
        params = SamplingParams(max_tokens=_ANSWER_TOKENS, temperature=0.0, seed=0, stop=[chat.end])
        return await sampler.sample(ModelInput.from_ints(chat.prompt(None, _QUESTION)), 1, params)

    started = time.monotonic()
    (sequence,) = asyncio.run(ask()).sequences
    said = chat.decode_reply(list(sequence.tokens))
    seconds = time.monotonic() - started
    return Check("ok", f"{len(sequence.tokens)} tokens with log probabilities in {seconds:.1f} s: {said!r}")


def checkpoints_check(saved: Mapping[str, "SavedPaths"]) -> Check:
    """Whether the service still holds the checkpoints that folders of models/ point to, and until when.

    `saved` is by folder.

    Raises:
        EngineError, InfrastructureError: the service does not say.
    """
    from posttrain.engine.hosted.address import rest_client
    from posttrain.engine.hosted.keeping import SOON

    if not saved:
        return Check("ok", "models/ points to none yet")
    wanted = {folder: (paths.sampler, paths.state) for folder, paths in saved.items()}
    rest, now = rest_client(), datetime.now(UTC)
    # All asked for before the first answer is awaited: one after the other could take minutes.
    runs = {
        run: rest.list_checkpoints(run)
        for run in sorted({path.split("/")[2] for both in wanted.values() for path in both})
    }
    listed = [one for run, future in runs.items() for one in _listed(future, run)]
    ends = {one.tinker_path: one.expires_at for one in listed if one.expires_at is None or one.expires_at > now}
    gone = [folder for folder, both in wanted.items() if not ends.keys() >= set(both)]
    if gone:
        shown = ", ".join(gone[:_SHOWN]) + (f" and {len(gone) - _SHOWN} more" if len(gone) > _SHOWN else "")
        todo = "delete these folders and run `dvc repro`, which makes them again; `posttrain plan` says at what price"
        return Check("FAIL", f"those of {shown} are gone: expired, deleted, or another account's", todo)
    found = f"all {len(saved)} that models/ points to are there"
    first = min((end for both in wanted.values() for path in both if (end := ends[path]) is not None), default=None)
    if first is None:
        return Check("ok", found)
    if first - now < SOON:
        todo = "a run that uses it gives it service.ttl_days again, so start one before then"
        return Check("warn", f"{found}, the first until {first:%Y-%m-%d %H:%M} UTC", todo)
    return Check("ok", f"{found}, the first until {first:%Y-%m-%d}")


def _listed(future: Any, run: str) -> Any:
    """The checkpoints of a run that the service lists, none if it does not know the run."""
    from posttrain.engine.hosted.failures import is_missing, translated
    from posttrain.engine.hosted.preflight import SECONDS

    try:
        return future.result(SECONDS).checkpoints
    except Exception as error:
        if is_missing(error):
            return ()
        raise translated(error, f"asking for the checkpoints of {run}") from error
