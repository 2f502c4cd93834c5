"""What the `engine` and `lora` sections of params.yaml say."""

from dataclasses import dataclass
from typing import Literal

from posttrain.errors import SettingsError


@dataclass(frozen=True)
class EngineSettings:
    """Where sampling and training run, and in what portions.

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
        if self.name == "tinker":
            raise SettingsError("name: tinker is not available in this version; set it to local")


@dataclass(frozen=True)
class LoraSettings:
    """The adapter that is trained. Its random half is drawn from run.seed."""

    rank: int

    def check(self) -> None:
        """Raises SettingsError on an impossible rank."""
        if self.rank < 1:
            raise SettingsError(f"rank: must be at least 1, is {self.rank}")
