"""All of euler/params.yaml at once: every section, and what only shows when two are seen together."""

from pathlib import Path
from typing import Any

from posttrain.engine.settings import EngineSettings, ServiceSettings
from posttrain.errors import SettingsError
from posttrain.euler.agent.settings import AgentSettings, PolicySettings
from posttrain.euler.round_settings import RoundSettings, TransferSettings
from posttrain.euler.sandbox.settings import SandboxSettings
from posttrain.euler.settings import FanoutSettings, GateSettings, ProblemSettings, ReportSettings, check_gate
from posttrain.ledger.price import BudgetSettings, PriceSettings
from posttrain.sections import load_sections

SECTIONS: dict[str, type[Any]] = {
    "problems": ProblemSettings,
    "round": RoundSettings,
    "fanout": FanoutSettings,
    "gate": GateSettings,
    "agent": AgentSettings,
    "policy": PolicySettings,
    "engine": EngineSettings,
    "sandbox": SandboxSettings,
    "transfer": TransferSettings,
    "report": ReportSettings,
    "prices": PriceSettings,
    "budget": BudgetSettings,
    "service": ServiceSettings,
}


def check_params(path: Path) -> None:
    """Raises SettingsError, naming the key, on the first thing wrong with the file."""
    settings = load_sections(path, SECTIONS)
    try:
        check_gate(settings["fanout"], settings["gate"])
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
