"""The sections of the recipe's params.yaml that say what one agent may use, and whose words it speaks."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class AgentSettings:
    """wall_seconds: of an agent, without those that its provider takes. turns: requests to the provider.

    concurrency: agents side by side. tries: how often one that the infrastructure lost is sampled.
    """

    wall_seconds: float
    turns: int
    concurrency: int
    tries: int

    def check(self) -> None:
        """Raises SettingsError for a value out of range."""
        for name in ("wall_seconds", "turns", "concurrency", "tries"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: must be at least 1, is {getattr(self, name)}")


@dataclass(frozen=True)
class PolicySettings:
    """kind: `engine` (a checkpoint behind the proxy), `script` (no model at all), or `provider` (one that Pi knows).

    checkpoint: for engine, a folder with checkpoint.json or a saved path; null for the untrained model.
    script: the name of one. provider, model, thinking, home: for a provider, see `agent.process.Provider`.
    revision: what a provider's model is called in the signature, such as a date or a hash.
    temperature, max_tokens: of one reply; context_tokens: of prompt and reply together.
    """

    kind: Literal["engine", "script", "provider"]
    checkpoint: str | None
    script: str | None
    provider: str | None
    model: str | None
    thinking: str
    revision: str
    home: str | None
    temperature: float
    max_tokens: int
    context_tokens: int
    seed: int

    def check(self) -> None:
        """Raises SettingsError for a value out of range or impossible beside another."""
        for name in ("max_tokens", "context_tokens"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: must be at least 1, is {getattr(self, name)}")
        if self.max_tokens >= self.context_tokens:
            raise SettingsError(f"context_tokens: must be more than max_tokens, is {self.context_tokens}")
        if not 0 <= self.seed < 2**30:
            raise SettingsError(f"seed: must be from 0 to {2**30 - 1}, is {self.seed}")
        if self.kind == "engine" and self.temperature <= 0:
            raise SettingsError("temperature: must be above 0: at 0 a second round only repeats the first")
        needed = {"script": ("script",), "provider": ("provider", "model", "home", "revision"), "engine": ()}
        for name in needed[self.kind]:
            if not getattr(self, name):
                raise SettingsError(f"{name}: must be set for kind {self.kind}")
