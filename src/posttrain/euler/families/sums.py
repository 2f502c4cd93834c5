"""Sums and counts that a short loop finds, and a formula finds at once."""

from math import factorial, lcm

from posttrain.euler.families.family import Family


def _odd_cubes_direct(n: int) -> int:
    return sum(k**3 for k in range(1, n + 1) if k % 2)


def _odd_cubes_better(n: int) -> int:
    m = (n + 1) // 2
    return m * m * (2 * m * m - 1)


def _remainders_direct(n: int, d: int, r: int) -> int:
    return sum(k for k in range(1, n + 1) if k % d == r)


def _remainders_better(n: int, d: int, r: int) -> int:
    last = (n - r) // d
    return (last + 1) * (2 * r + last * d) // 2


def _neither_direct(n: int, a: int, b: int) -> int:
    return sum(1 for k in range(1, n + 1) if k % a and k % b)


def _neither_better(n: int, a: int, b: int) -> int:
    return n - n // a - n // b + n // lcm(a, b)


def _alternating_direct(n: int) -> int:
    total, sign = 0, 1
    for k in range(1, n + 1):
        total += sign * k * k
        sign = -sign
    return total


def _alternating_better(n: int) -> int:
    return (n * (n + 1) // 2) * (1 if n % 2 else -1)


def _pair_products_direct(n: int) -> int:
    return sum(i * j for j in range(1, n + 1) for i in range(1, j))


def _pair_products_better(n: int) -> int:
    total = n * (n + 1) // 2
    squares = n * (n + 1) * (2 * n + 1) // 6
    return (total * total - squares) // 2


def _staircase_direct(n: int, a: int, b: int) -> int:
    ways = [1] + [0] * n
    for stair in range(1, n + 1):
        ways[stair] = sum(ways[stair - step] for step in (1, a, b) if step <= stair)
    return ways[n]


def _staircase_better(n: int, a: int, b: int) -> int:
    total = 0
    for longest in range(n // b + 1):
        for middle in range((n - longest * b) // a + 1):
            short = n - longest * b - middle * a
            steps = longest + middle + short
            total += factorial(steps) // (factorial(longest) * factorial(middle) * factorial(short))
    return total


SUMS = (
    Family(
        "odd_cubes",
        "Cube each odd number from 1 up to {n}, and add the cubes together. What is the total?",
        {"n": range(301, 900)},
        _odd_cubes_direct,
        _odd_cubes_better,
    ),
    Family(
        "neither",
        "How many of the whole numbers from 1 to {n} are a multiple of neither {a} nor {b}?",
        {"n": range(4000, 9000), "a": range(4, 13), "b": range(5, 17)},
        _neither_direct,
        _neither_better,
        fits=lambda a, b, **_: a < b and b % a > 0,
    ),
    Family(
        "remainders",
        "Of the whole numbers from 1 to {n}, keep those that leave a remainder of {r} when divided by {d}.\n"
        "What do the kept numbers add up to?",
        {"n": range(5000, 9000), "d": range(7, 24), "r": range(1, 7)},
        _remainders_direct,
        _remainders_better,
    ),
    Family(
        "alternating",
        "Take the square numbers 1, 4, 9, 16, … up to the square of {n}. Add the first, subtract the second, add the "
        "third, and so on in turn, until all are used.\nWhere do you end?",
        {"n": range(1001, 3000, 2)},
        _alternating_direct,
        _alternating_better,
    ),
    Family(
        "pair_products",
        "For every pair of different whole numbers from 1 to {n}, multiply the two; a pair counts once, whatever its "
        "order.\nWhat is the sum of all these products?",
        {"n": range(200, 400)},
        _pair_products_direct,
        _pair_products_better,
    ),
    Family(
        "staircase",
        "A frog goes up {n} stairs in jumps of 1, {a} or {b} stairs, and must land exactly on the last one. Two ways "
        "up are different if their jumps, in order, are.\nHow many ways are there?",
        {"n": range(28, 40), "a": range(2, 5), "b": range(5, 8)},
        _staircase_direct,
        _staircase_better,
    ),
)
