import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.wiki import topk


def by_sorting(scores: np.ndarray, k: int) -> list[int]:
    ranked = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
    return [n for n in ranked if scores[n] > 0][:k]


@given(
    st.lists(st.tuples(st.integers(0, 5 * topk.BLOCK - 1), st.integers(1, 4)), max_size=60),
    st.integers(1, 5 * topk.BLOCK),
)
def test_equals_a_full_sort_with_ties_by_position(entries: list[tuple[int, int]], k: int) -> None:
    scores = np.zeros(5 * topk.BLOCK, np.float32)
    for position, score in entries:
        scores[position] = score
    assert topk.top_k(scores, k).tolist() == by_sorting(scores, k)


@pytest.mark.parametrize("k", [1, 3, 5, 6, 100])
def test_dense_scores(k: int) -> None:
    scores = np.random.default_rng(0).integers(1, 50, 5 * topk.BLOCK).astype(np.float32)
    assert topk.top_k(scores, k).tolist() == by_sorting(scores, k)


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (topk.BLOCK, 1), (topk.BLOCK + 1, 2)])
def test_padding_is_to_whole_blocks(size: int, blocks: int) -> None:
    assert topk.padded(size) == blocks * topk.BLOCK
