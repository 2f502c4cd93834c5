from dataclasses import replace
from typing import Any

import pytest

from posttrain.errors import SettingsError
from posttrain.euler.agent.settings import AgentSettings, PolicySettings
from posttrain.euler.agent.speaker import provider_speaker, scripted_speaker

AGENT = AgentSettings(wall_seconds=60.0, turns=10, concurrency=2, tries=2)
POLICY = PolicySettings("engine", None, None, None, None, "", "", None, 1.0, 512, 4096, 7)


def test_good_settings_pass() -> None:
    AGENT.check()
    for changes in ({}, {"kind": "script", "script": "cases"}):
        replace(POLICY, **changes).check()
    replace(POLICY, kind="provider", provider="p", model="m", home="~", revision="r").check()


@pytest.mark.parametrize("name", ["wall_seconds", "turns", "concurrency", "tries"])
def test_an_agent_needs_at_least_one_of_each(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: must be at least 1, is 0"):
        replace(AGENT, **{name: 0}).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": 0}, "max_tokens: must be at least 1"),
        ({"context_tokens": 512}, "context_tokens: must be more than max_tokens"),
        ({"seed": 2**30}, "seed: must be from 0"),
        ({"seed": -1}, "seed: must be from 0"),
        ({"temperature": 0.0}, "temperature: must be above 0"),
        ({"kind": "script"}, "script: must be set for kind script"),
        ({"kind": "provider", "provider": "p", "model": "m", "home": "~"}, "revision: must be set for kind provider"),
        ({"kind": "provider", "provider": "p", "model": "m", "revision": "r"}, "home: must be set"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        replace(POLICY, **changes).check()


def test_unknown_scripts_and_homes_are_refused() -> None:
    with (
        pytest.raises(SettingsError, match="'nothing' is unknown; known: solving"),
        scripted_speaker(replace(POLICY, kind="script", script="nothing")),
    ):
        pass
    with pytest.raises(SettingsError, match="/nowhere is no folder"):
        provider_speaker(replace(POLICY, kind="provider", provider="p", model="m", revision="r", home="/nowhere"))
