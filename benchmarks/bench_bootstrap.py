"""The intervals of the ablation, ours beside pure Python and scipy: 6 arms × 500 questions, 11 intervals, B = 1,000.

Run: python benchmarks/bench_bootstrap.py
"""

import random
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.stats

from posttrain.stats.bootstrap import mean_intervals

ARMS, QUESTIONS, RESAMPLES, CONFIDENCE, SEED = 6, 500, 1_000, 0.95, 0
AIM, MUST = 20.0, 15.0

Intervals = Callable[[list[list[float]]], list[tuple[float, float]]]


def pure_python(series: list[list[float]]) -> list[tuple[float, float]]:
    generator = random.Random(SEED)
    ends = []
    for values in series:
        means = sorted(sum(generator.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
        ends.append((means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]))
    return ends


def with_scipy(series: list[list[float]]) -> list[tuple[float, float]]:
    ends = []
    for values in series:
        found = scipy.stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        ends.append((found.low, found.high))
    return ends


def ours(series: list[list[float]]) -> list[tuple[float, float]]:
    """As the ablation calls it: once for the arms, once for the differences."""
    return [
        (estimate.low, estimate.high)
        for rows in (series[:ARMS], series[ARMS:])
        for estimate in mean_intervals(rows, resamples=RESAMPLES, confidence=CONFIDENCE, seed=SEED)
    ]


def best_seconds(work: Intervals, series: list[list[float]], repeats: int) -> tuple[float, float]:
    """Least wall and CPU seconds of `repeats` runs; CPU counts all threads, so it is fair on a contended machine."""
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work(series)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def main() -> int:
    generator = np.random.default_rng(SEED)
    arms_AN = np.clip(generator.normal(0.5, 0.45, (ARMS, QUESTIONS)), 0, 1)
    series = np.vstack([arms_AN, arms_AN[1:] - arms_AN[0]]).tolist()
    widest = max(abs(np.subtract(ours(series), other(series))).max() for other in (pure_python, with_scipy))
    print(f"{len(series)} intervals, B = {RESAMPLES:,}; ends differ by at most {widest:.4f} (resampling noise)")
    wall, cpu = best_seconds(ours, series, 20)
    print(f"{'ours':12} {wall * 1e3:8.1f} ms wall {cpu * 1e3:8.1f} ms CPU")
    ratios = {}
    for name, work in {"pure Python": pure_python, "scipy": with_scipy}.items():
        other_wall, other_cpu = best_seconds(work, series, 3)
        ratios[name] = other_cpu / cpu
        print(
            f"{name:12} {other_wall * 1e3:8.1f} ms wall {other_cpu * 1e3:8.1f} ms CPU"
            f"   {other_wall / wall:6.1f} times ours (wall) {ratios[name]:6.1f} times (CPU)"
        )
    print(f"pure Python / ours {ratios['pure Python']:.1f} by CPU; aim {AIM:.0f}, must {MUST:.0f}")
    return int(ratios["pure Python"] < MUST)


if __name__ == "__main__":
    sys.exit(main())
