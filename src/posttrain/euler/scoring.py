"""Scores all rollouts of a sampled round at once."""

from dataclasses import asdict, replace
from pathlib import Path

from posttrain.euler.evaluate import SCORER
from posttrain.euler.manifest import RoundKind
from posttrain.euler.manifest_file import MANIFEST, log_path, read_manifest
from posttrain.euler.problem_set import ProblemSet
from posttrain.euler.rollouts import judged
from posttrain.euler.round_files import RESULTS
from posttrain.euler.signature import code_sha256
from posttrain.files import copy_folder, write_json, write_jsonl


def score_round(sampled: Path, problems: ProblemSet, out: Path) -> None:
    """Puts the round with its rows into `out`.

    A rule that was changed after the rollouts were seen must not unlock anything, so a round that was sampled under
    another scorer becomes a replay.

    Raises:
        DataError: the round is damaged, or of other problems.
    """
    manifest, scorer = read_manifest(sampled), code_sha256(SCORER)
    rows = [
        asdict(judged(planned, problems.problems[planned.problem], log_path(sampled, planned)))
        for planned in manifest.plan
    ]
    copy_folder(sampled, out)
    if manifest.signature.scorer_sha256 != scorer:
        signature = replace(manifest.signature, scorer_sha256=scorer)
        manifest = replace(manifest, kind=RoundKind(manifest.kind.mode, "replay"), signature=signature)
        write_json(out / MANIFEST, asdict(manifest))
    write_jsonl(out / RESULTS, rows)
