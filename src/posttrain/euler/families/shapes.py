"""Problems about points, triangles, boards and circles of people."""

from collections import Counter
from math import gcd, isqrt

from posttrain.euler.families.family import Family


def _lattice_direct(r: int) -> int:
    side = range(-r, r + 1)
    return sum((x + y) % 2 == 0 and x * x + y * y <= r * r for x in side for y in side)


def _lattice_better(r: int) -> int:
    """Turned by 45 degrees these points are all the points of a circle with half the squared radius."""
    half = r * r // 2
    return sum(2 * isqrt(half - u * u) + 1 for u in range(-isqrt(half), isqrt(half) + 1))


def _right_triangles_direct(n: int) -> int:
    found = 0
    for a in range(1, n):
        for b in range(a, n):
            square = a * a + b * b
            if square > n * n:
                break
            found += isqrt(square) ** 2 == square
    return found


def _right_triangles_better(n: int) -> int:
    """Each is a multiple of exactly one with sides p² − q², 2pq, p² + q² (Euclid)."""
    found = 0
    for p in range(2, isqrt(n) + 1):
        for q in range(1, p):
            if (p - q) % 2 and gcd(p, q) == 1:
                found += n // (p * p + q * q)
    return found


def _board_direct(w: int, h: int, a: int, b: int, d: int) -> int:
    def ways(x: int, y: int) -> int:
        if x > w or y > h or (a * x + b * y) % d == 0:
            return 0
        return 1 if (x, y) == (w, h) else ways(x + 1, y) + ways(x, y + 1)

    return ways(1, 1)


def _board_better(w: int, h: int, a: int, b: int, d: int) -> int:
    row = [1] + [0] * (w - 1)
    for y in range(1, h + 1):
        for x in range(1, w + 1):
            if (a * x + b * y) % d == 0:
                row[x - 1] = 0
            elif x > 1:
                row[x - 1] += row[x - 2]
    return row[-1]


def _dominoes_direct(n: int) -> int:
    """Column by column; a state says which of the three squares the column before has filled already."""
    states = Counter({(False, False, False): 1})
    for _ in range(n):
        after: Counter[tuple[bool, ...]] = Counter()
        for (top, middle, bottom), ways in states.items():
            after[(not top, not middle, not bottom)] += ways
            if not top and not middle:
                after[(False, False, not bottom)] += ways
            if not middle and not bottom:
                after[(not top, False, False)] += ways
        states = Counter({(state[0], state[1], state[2]): ways for state, ways in after.items()})
    return states[(False, False, False)]


def _dominoes_better(n: int) -> int:
    before, ways = 1, 1
    for _ in range(n // 2):
        before, ways = ways, 4 * ways - before
    return ways


def _circle_direct(n: int, k: int) -> int:
    people, place = list(range(1, n + 1)), 0
    while len(people) > 1:
        place = (place + k - 1) % len(people)
        people.pop(place)
    return people[0]


def _circle_better(n: int, k: int) -> int:
    last = 0
    for size in range(2, n + 1):
        last = (last + k) % size
    return last + 1


SHAPES = (
    Family(
        "lattice",
        "A circle of radius {r} lies around the origin of squared paper. A point (x, y) inside it or on it, with whole "
        "x and y, gets a dot if x + y is even.\nHow many dots are there?",
        {"r": range(120, 240)},
        _lattice_direct,
        _lattice_better,
    ),
    Family(
        "circle",
        "{n} people, numbered from 1, stand in a circle. Counting begins at person 1, and every {k}-th person who is "
        "still there leaves, round after round, until a single one is left.\nWhich number does that person have?",
        {"n": range(1500, 4000), "k": range(4, 13)},
        _circle_direct,
        _circle_better,
    ),
    Family(
        "right_triangles",
        "How many triangles with a right angle have three sides of whole length, none longer than {n}? Triangles with "
        "the same three lengths count once.",
        {"n": range(150, 300)},
        _right_triangles_direct,
        _right_triangles_better,
    ),
    Family(
        "board",
        "A board has {w} columns and {h} rows, both numbered from 1. A piece goes from column 1, row 1 to column {w}, "
        "row {h}; each move takes it one column on or one row on. It may not stand where {a} times the column plus {b} "
        "times the row is a multiple of {d}.\nHow many ways does it have?",
        {"w": range(8, 10), "h": range(8, 10), "a": range(2, 9), "b": range(2, 9), "d": range(11, 18)},
        _board_direct,
        _board_better,
        fits=lambda **numbers: _board_better(**numbers) > 100,
    ),
    Family(
        "dominoes",
        "In how many ways can a strip of 3 rows and {n} columns be covered with pieces of 2 by 1 squares, which may "
        "lie either way, without gaps and without overlaps?",
        {"n": range(16, 40, 2)},
        _dominoes_direct,
        _dominoes_better,
    ),
)
