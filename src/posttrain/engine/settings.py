"""What the `engine`, `service` and `lora` sections of params.yaml say."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class EngineSettings:
    """Where sampling and training run, and in what portions.

    name: `local` (this process) or `tinker` (the hosted service, or a cluster that TINKER_BASE_URL names).
    model: `smollm2-135m-instruct` (embedded), `tiny` (random, for tests), or a Hugging Face name or folder.
    threads: CPU threads; they change float rounding, so they belong to what makes a run repeat itself.
    batch_rows: samples decoded side by side. micro_batch_tokens: padded tokens in one backward pass.
    """

    name: Literal["local", "tinker"]
    model: str
    device: Literal["auto", "cpu", "cuda", "mps"]
    dtype: Literal["float32", "bfloat16"]
    threads: int
    batch_rows: int
    micro_batch_tokens: int

    def check(self) -> None:
        """Raises SettingsError on values that no machine can serve."""
        for key in ("threads", "batch_rows", "micro_batch_tokens"):
            if getattr(self, key) < 1:
                raise SettingsError(f"{key}: must be at least 1, is {getattr(self, key)}")


@dataclass(frozen=True)
class ServiceSettings:
    """How the hosted service is used; none of it changes a result.

    in_flight: requests under way at once. timeout_s: seconds after which one is given up and tried again.
    retries: further tries after a failure, with growing pauses. ttl_days: how long checkpoints are kept, null for ever.
    """

    in_flight: int
    timeout_s: float
    retries: int
    ttl_days: int | None

    def check(self) -> None:
        """Raises SettingsError on values out of range."""
        for key, low in (("in_flight", 1), ("timeout_s", 1), ("retries", 0), ("ttl_days", 1)):
            value = getattr(self, key)
            if value is not None and value < low:
                raise SettingsError(f"{key}: must be at least {low}, is {value}")


@dataclass(frozen=True)
class LoraSettings:
    """The adapter that is trained. Its random half is drawn from run.seed."""

    rank: int

    def check(self) -> None:
        """Raises SettingsError on an impossible rank."""
        if self.rank < 1:
            raise SettingsError(f"rank: must be at least 1, is {self.rank}")
