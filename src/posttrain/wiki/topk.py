"""The best k of an array of scores that is mostly zeros, without sorting or partitioning all of it."""

import numpy as np
from numpy.typing import NDArray

BLOCK = 2048
"""Scores per block; a score array is padded with zeros to a multiple of it."""


def padded(size: int) -> int:
    """`size` rounded up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


def top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Positions of the k largest positive scores, best first, equal scores by position; fewer if fewer are positive.

    Takes the maximum of each block. The k-th largest of these maxima is reached by k scores at least, so nothing
    below it can be among the best k, and only blocks that reach it are looked into.
    """
    blocks = scores.reshape(-1, BLOCK)
    maxima = blocks.max(axis=1)
    floor = np.partition(maxima, len(maxima) - k)[len(maxima) - k] if k <= len(maxima) else np.float32(0)
    held = np.flatnonzero(maxima >= floor) if floor > 0 else np.flatnonzero(maxima)
    inside = blocks[held]
    row, column = np.nonzero((inside >= floor) & (inside > 0))
    # Ascending positions and a stable sort: equal scores stay in the order of their positions.
    positions = held[row] * BLOCK + column
    order = np.argsort(-scores[positions], kind="stable")[:k]
    best: NDArray[np.int64] = positions[order]
    return best
