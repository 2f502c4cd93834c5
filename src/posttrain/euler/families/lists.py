"""Problems about long lists: sequences that the wording describes, and files that come with it."""

from bisect import bisect_left, bisect_right, insort
from itertools import accumulate

from posttrain.euler.families.family import Family, drawn_terms

_MODULUS = 10007
_HALF = _MODULUS // 2


def _steps(n: int, s: int, t: int, p: int) -> list[int]:
    return [term - _HALF for term in drawn_terms(s, t, p, _MODULUS, n)]


def _stretch_direct(n: int, s: int, t: int, p: int) -> int:
    numbers = _steps(n, s, t, p)
    return max(max(accumulate(numbers[start:])) for start in range(n))


def _stretch_better(n: int, s: int, t: int, p: int) -> int:
    best = current = -_MODULUS
    for number in _steps(n, s, t, p):
        current = max(number, current + number)
        best = max(best, current)
    return best


def _climb_direct(n: int, s: int, t: int, p: int) -> int:
    terms = drawn_terms(s, t, p, _MODULUS, n)
    longest: list[int] = []
    for place, term in enumerate(terms):
        longest.append(1 + max((longest[before] for before in range(place) if terms[before] < term), default=0))
    return max(longest)


def _climb_better(n: int, s: int, t: int, p: int) -> int:
    ends: list[int] = []
    for term in drawn_terms(s, t, p, _MODULUS, n):
        place = bisect_left(ends, term)
        ends[place : place + 1] = [term]
    return len(ends)


def _readings(n: int, s: int, t: int, p: int) -> list[int]:
    return [term % 1000 for term in drawn_terms(s, t, p, _MODULUS, n)]


def _drops_direct(n: int, s: int, t: int, p: int, d: int) -> int:
    readings = _readings(n, s, t, p)
    return sum(readings[i] - readings[j] > d for j in range(n) for i in range(j))


def _drops_better(n: int, s: int, t: int, p: int, d: int) -> int:
    before: list[int] = []
    drops = 0
    for reading in _readings(n, s, t, p):
        drops += len(before) - bisect_right(before, reading + d)
        insort(before, reading)
    return drops


def _costs(n: int, s: int, t: int, p: int) -> list[list[int]]:
    terms = [term % 90 + 10 for term in drawn_terms(s, t, p, _MODULUS, n * n)]
    return [terms[row * n : row * n + n] for row in range(n)]


def _crossing_direct(n: int, s: int, t: int, p: int) -> int:
    """Improves the cheapest known way to each field until nothing changes (Bellman and Ford)."""
    costs = _costs(n, s, t, p)
    cheapest = {(0, x): cost for x, cost in enumerate(costs[0])}
    changed = True
    while changed:
        changed = False
        for (y, x), so_far in list(cheapest.items()):
            for side in (x - 1, x, x + 1):
                if y + 1 < n and 0 <= side < n:
                    total = so_far + costs[y + 1][side]
                    if total < cheapest.get((y + 1, side), total + 1):
                        cheapest[y + 1, side] = total
                        changed = True
    return min(cheapest[n - 1, x] for x in range(n))


def _crossing_better(n: int, s: int, t: int, p: int) -> int:
    *above, below = _costs(n, s, t, p)
    for row in reversed(above):
        below = [cost + min(below[max(x - 1, 0) : x + 2]) for x, cost in enumerate(row)]
    return min(below)


def _readings_file(n: int, s: int, t: int, p: int, **_: int) -> dict[str, str]:
    return {"readings.txt": "".join(f"{reading}\n" for reading in _readings(n, s, t, p))}


def _costs_file(n: int, s: int, t: int, p: int) -> dict[str, str]:
    return {"costs.txt": "".join(" ".join(map(str, row)) + "\n" for row in _costs(n, s, t, p))}


_DRAWN = {"s": range(1, 10000), "t": range(501, 2000), "p": range(3, 10000)}
_RULE = (
    f"A list begins with {{s}}; each further number is what remains when {{t}} times the one before, plus {{p}}, is "
    f"divided by {_MODULUS}. It ends after {{n}} numbers.\n"
)

LISTS = (
    Family(
        "drops",
        "The file readings.txt holds {n} readings of a gauge, one in each line, the oldest first.\n"
        "How many pairs of readings are there in which the later one is lower than the earlier one by more than {d}?",
        {"n": range(400, 700), "d": range(50, 300), **_DRAWN},
        _drops_direct,
        _drops_better,
        files=_readings_file,
    ),
    Family(
        "stretch",
        _RULE
        + f"Subtract {_HALF} from every number, so that some become negative. Choose one or more neighbouring numbers "
        "of the new list so that their sum is as large as possible.\nWhat is this sum?",
        {"n": range(400, 700), **_DRAWN},
        _stretch_direct,
        _stretch_better,
    ),
    Family(
        "climb",
        _RULE
        + "Cross out as few numbers as possible, so that each of those that are left is larger than the one that is "
        "left before it.\nHow many are left?",
        {"n": range(400, 700), **_DRAWN},
        _climb_direct,
        _climb_better,
    ),
    Family(
        "crossing",
        "The file costs.txt holds {n} rows of {n} numbers, parted by spaces: what it costs to step on each stone of a "
        "ford. A hiker enters on any stone of the first row and leaves from any stone of the last. Each step leads to "
        "the next row, to the same column or to one beside it.\nWhat does the cheapest crossing cost in all?",
        {"n": range(24, 40), **_DRAWN},
        _crossing_direct,
        _crossing_better,
        files=_costs_file,
    ),
)
