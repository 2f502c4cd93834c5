"""What the report is made of, read from the pipeline's metrics, curves and test runs."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posttrain.errors import DataError
from posttrain.files import read_json
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.wiki.ablation import ARMS
from posttrain.wiki.choose import UNITS
from posttrain.wiki.report_story import Price
from posttrain.wiki.traces import RUNS, Trace, read_traces

METRICS = Path("metrics")


@dataclass(frozen=True)
class Inputs:
    """`val` is (label, mean F1, interval) along the training; `curves` are rows by the name of their file."""

    ablation: Mapping[str, Any]
    prep: Mapping[str, Any]
    index: Mapping[str, Any]
    val: list[tuple[str, float, list[float]]]
    val_n: int
    curves: Mapping[str, list[dict[str, float]]]
    measured: Mapping[str, Mapping[str, Any]]
    traces: Mapping[str, tuple[str, list[Trace]]]
    prices: Mapping[str, Price]


def read_inputs(prices: PriceSettings) -> Inputs:
    """Reads all of it.

    Raises:
        DataError: a file is missing or not what its stage writes.
    """
    base = read_json(METRICS / "base.json")
    curves = {name: _curve(METRICS / "curves" / f"{name}.csv") for name in ("coldstart", "sft", "grpo")}
    by_phase = {phase: _val(phase) for phase in UNITS}
    labelled = [
        (f"{phase.upper()} {UNITS[phase]} {number}", found["f1"], found["f1_ci"])
        for phase, numbers in by_phase.items()
        for number, found in numbers.items()
    ]
    return Inputs(
        ablation=read_json(METRICS / "ablation.json"),
        prep=read_json(METRICS / "prep.json"),
        index=read_json(METRICS / "index.json"),
        val=[("Base", base["f1"], base["f1_ci"]), *labelled],
        val_n=base["n"],
        curves=curves,
        measured={arm: read_json(METRICS / "test" / f"{arm}.json") for arm in ARMS},
        traces={arm: (title, read_traces(RUNS / "test" / arm)) for arm, title in ARMS.items()},
        prices=_prices(curves, by_phase, prices),
    )


def _val(phase: str) -> dict[int, dict[str, Any]]:
    """Metrics on val of a phase's checkpoints that its choice was made from, in order."""
    chosen = read_json(METRICS / f"{phase}.json")
    return {
        int(number): read_json(METRICS / "val" / phase / f"{number}.json") for number in chosen[f"f1_by_{UNITS[phase]}"]
    }


def _curve(path: Path) -> list[dict[str, float]]:
    """Rows of a curve; cells that are empty, as a step that trained on nothing leaves them, are left out."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(lines)]
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing; `dvc repro` makes it") from error
    except (ValueError, TypeError) as error:
        raise DataError(f"{path} is no curve: {error}; run `dvc repro`") from error


def _prices(
    curves: Mapping[str, list[dict[str, float]]],
    val: Mapping[str, Mapping[int, Mapping[str, Any]]],
    prices: PriceSettings,
) -> dict[str, Price]:
    trained = sum(round(row.get("tokens", 0)) for name in ("coldstart", "sft") for row in curves[name])
    collected, grpo = read_json(METRICS / "select.json"), curves["grpo"]
    measuring = {phase: sum(found["usd"] for found in numbers.values()) for phase, numbers in val.items()}
    supervised = prices.usd(Tokens(trained=trained)) + collected["usd"]
    return {
        "sft": Price(
            supervised + measuring["sft"], f"{collected['attempts']:,} attempts sampled, {trained:,} tokens trained on"
        ),
        "grpo": Price((grpo[-1]["usd"] if grpo else 0.0) + measuring["grpo"], f"{len(grpo)} steps"),
    }
