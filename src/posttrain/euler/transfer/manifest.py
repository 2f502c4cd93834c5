"""What a round of the transfer suite is: its plan, its manifest, and the problems that it is judged by."""

from collections.abc import Sequence

from posttrain.euler.manifest import Manifest, RoundKind, TaskSource, manifest_of
from posttrain.euler.plan import probe_plan
from posttrain.euler.planned import Planned
from posttrain.euler.problems import Problem
from posttrain.euler.replay import Lookup
from posttrain.euler.settings import FanoutSettings, GateSettings
from posttrain.euler.signature import ModelSignature
from posttrain.euler.transfer.frozen import FROZEN_SHA256, SUITE, check_frozen, task_sha256
from posttrain.euler.transfer.tasks import NAMES, as_problem, task

_LIVE = RoundKind("transfer", "live")
_NO_PROBLEM = 0
"""No curriculum has a problem 0, so the round is at none, and can be taken for none at the frontier."""
_NO_GATE = GateSettings(required=1, rounds=1, min_regression_rate=0.0)
"""Asked by nobody: a transfer round is void for the gate. It is the same for all, so that rounds stay comparable."""


def transfer_plan(fanout: FanoutSettings) -> list[Planned]:
    """Every task in every language of the fan-out, `fanout.rollouts` times each, with the neutral prompt."""
    return probe_plan(list(NAMES), "transfer", fanout)


def transfer_manifest(signature: ModelSignature, fanout: FanoutSettings, trained_on: Sequence[int]) -> Manifest:
    """The manifest of a transfer round that begins now. trained_on: problems of the curriculum, as in any round.

    Raises:
        DataError: the suite is not the frozen one, or a language of the fan-out is not in the signature.
    """
    source = TaskSource(SUITE, FROZEN_SHA256, transfer_lookup().tasks)
    return manifest_of(_LIVE, _NO_PROBLEM, transfer_plan(fanout), source, signature, fanout, _NO_GATE, trained_on)


def transfer_problem(planned: Planned) -> Problem:
    """The problem that a planned rollout of the suite is judged by.

    Raises:
        DataError: there is no such task or language.
    """
    return as_problem(task(planned.problem, planned.language))


def transfer_lookup() -> Lookup:
    """What a replay of a transfer round needs.

    Raises:
        DataError: the suite is not the frozen one.
    """
    check_frozen()
    return Lookup({number: task_sha256(number) for number in NAMES}, transfer_problem)
