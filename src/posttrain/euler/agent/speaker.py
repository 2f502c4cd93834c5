"""Whose words the agents speak: a script or a checkpoint behind the proxy, or a provider that Pi knows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from posttrain.errors import PosttrainError, SettingsError
from posttrain.euler.agent.process import Provider, loopback_provider
from posttrain.euler.agent.settings import PolicySettings
from posttrain.euler.planned import Planned
from posttrain.euler.proxy.cases import SCRIPTS
from posttrain.euler.proxy.completer import Completer
from posttrain.euler.proxy.scripted import ScriptedCompleter
from posttrain.euler.proxy.server import serving
from posttrain.euler.signature import code_sha256


@dataclass(frozen=True)
class Speaker:
    """model, revision, provider, thinking, sampling: as in `ModelSignature`.

    opened: the place for one rollout's replies, with the index of its samples. failure: what makes asking for more
    useless, if anything does.
    """

    model: str
    revision: str
    provider: str
    thinking: str
    sampling: dict[str, str]
    opened: Callable[[Planned, int], AbstractContextManager[Provider]]
    failure: Callable[[], PosttrainError | None]


@contextmanager
def scripted_speaker(settings: PolicySettings) -> Iterator[Speaker]:
    """The script that `settings` name.

    Raises:
        SettingsError: there is none of that name.
    """
    script = SCRIPTS.get(str(settings.script))
    if script is None:
        raise SettingsError(f"policy.script: {settings.script!r} is unknown; known: {', '.join(SCRIPTS)}")
    completer = ScriptedCompleter(script, f"script:{settings.script}", code_sha256("posttrain.euler.proxy.cases"))
    with proxied_speaker(nullcontext(completer), settings) as speaker:
        yield speaker


@contextmanager
def proxied_speaker(completer: AbstractContextManager[Completer], settings: PolicySettings) -> Iterator[Speaker]:
    """Whoever `completer` is, behind the proxy, which serves until the block ends."""
    with serving(completer) as proxy:

        @contextmanager
        def opened(planned: Planned, index: int) -> Iterator[Provider]:
            with proxy.seat(planned, index) as url:
                yield loopback_provider(url, settings.context_tokens, settings.max_tokens)

        who = proxy.completer
        yield Speaker(who.model, who.revision, "posttrain", "", sampling(settings), opened, lambda: proxy.failure)


def provider_speaker(settings: PolicySettings) -> Speaker:
    """A provider that Pi knows and logs in to by itself, with the credentials in its own folder."""
    home = Path(str(settings.home)).expanduser()
    if not home.is_dir():
        raise SettingsError(f"policy.home: {home} is no folder; log in with `pi` first, which makes ~/.pi/agent")
    provider = Provider(str(settings.provider), str(settings.model), settings.thinking, None, home)
    return Speaker(
        model=provider.model,
        revision=settings.revision,
        provider=provider.name,
        thinking=provider.thinking,
        sampling={},
        opened=lambda _planned, _index: nullcontext(provider),
        failure=lambda: None,
    )


def sampling(settings: PolicySettings) -> dict[str, str]:
    """What a signature says of how tokens are drawn."""
    return {
        "temperature": f"{settings.temperature:g}",
        "max_tokens": str(settings.max_tokens),
        "context_tokens": str(settings.context_tokens),
    }
