"""Problems that count selections: coins, subsets, partitions."""

from functools import cache
from math import comb

from posttrain.euler.families.family import Family


def _change_direct(t: int, a: int, b: int, c: int, d: int) -> int:
    ways = 0
    for fourth in range(t // d + 1):
        for third in range((t - fourth * d) // c + 1):
            for second in range((t - fourth * d - third * c) // b + 1):
                ways += (t - fourth * d - third * c - second * b) % a == 0
    return ways


def _change_better(t: int, a: int, b: int, c: int, d: int) -> int:
    ways = [1] + [0] * t
    for coin in (a, b, c, d):
        for amount in range(coin, t + 1):
            ways[amount] += ways[amount - coin]
    return ways[t]


def _subsets_direct(n: int, m: int) -> int:
    counts = [1] + [0] * (m - 1)
    for number in range(1, n + 1):
        counts = [counts[rest] + counts[(rest - number) % m] for rest in range(m)]
    return counts[0]


def _subsets_better(n: int, m: int) -> int:
    """Numbers with one remainder at a time: k of c of them can be taken in C(c, k) ways, and add k times it."""
    product = [1] + [0] * (m - 1)
    for rest in range(m):
        same = n // m + (1 <= rest <= n % m)
        factor = [0] * m
        for taken in range(same + 1):
            factor[taken * rest % m] += comb(same, taken)
        product = [sum(product[i] * factor[(j - i) % m] for i in range(m)) for j in range(m)]
    return product[0]


def _apart_direct(n: int) -> int:
    @cache
    def ways(left: int, most: int) -> int:
        if left == 0:
            return 1
        return sum(ways(left - part, part - 2) for part in range(1, min(left, most) + 1))

    return ways(n, n)


def _apart_better(n: int) -> int:
    """As many as there are partitions into parts that leave 1 or 4 when divided by 5 (Rogers and Ramanujan)."""
    ways = [1] + [0] * n
    for part in range(1, n + 1):
        if part % 5 in (1, 4):
            for total in range(part, n + 1):
                ways[total] += ways[total - part]
    return ways[n]


CHOICES = (
    Family(
        "change",
        "A country has coins of {a}, {b}, {c} and {d} shells, and everybody has plenty of each.\n"
        "In how many ways can a price of exactly {t} shells be paid? Only the number of coins of each kind matters.",
        {"t": range(150, 300), "a": range(2, 5), "b": range(5, 8), "c": range(9, 13), "d": range(20, 26)},
        _change_direct,
        _change_better,
    ),
    Family(
        "subsets",
        "Somebody picks some of the whole numbers from 1 to {n}, perhaps all or none of them, and adds them up; "
        "nothing picked gives 0.\nHow many of the possible selections have a sum that is a multiple of {m}?",
        {"n": range(30, 60), "m": range(7, 20)},
        _subsets_direct,
        _subsets_better,
    ),
    Family(
        "apart",
        "In how many ways can {n} be written as a sum of positive whole numbers, any two of which differ by 2 or more? "
        "The order of the numbers does not matter, and {n} by itself is one way.",
        {"n": range(60, 110)},
        _apart_direct,
        _apart_better,
    ),
)
