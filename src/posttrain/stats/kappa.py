"""Agreement of two raters beyond what their habits alone would give."""

from collections import Counter
from collections.abc import Hashable, Iterable


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """(p_o − p_c) / (1 − p_c) of two raters' labels of the same items (Cohen 1960, equation 1).

    p_o is the share of equal labels, p_c the share expected if each rater drew labels at random, as often as they
    used them. 1 is full agreement, 0 what chance gives, below 0 less than that.

    Returns:
        None where it is 0/0: without items, or when both raters gave every item the one same label.
    """
    table = Counter(pairs)
    n = table.total()
    first, second = Counter[Hashable](), Counter[Hashable]()
    for (one, two), count in table.items():
        first[one] += count
        second[two] += count
    # Both shares times n², in integers, so that full agreement is exactly 1.
    observed = n * sum(count for (one, two), count in table.items() if one == two)
    chance = sum(count * second[label] for label, count in first.items())
    return None if chance == n * n else (observed - chance) / (n * n - chance)
