"""Problems whose numbers grow out of bounds unless remainders are taken on the way."""

from math import gcd

from posttrain.euler.families.family import Family

Pair = tuple[int, int]


def _linear_direct(a: int, b: int, p: int, q: int, n: int, m: int) -> int:
    before, term = a, b
    for _ in range(n - 2):
        before, term = term, p * term + q * before
        before, term = before % m, term % m
    return term % m


def _linear_better(a: int, b: int, p: int, q: int, n: int, m: int) -> int:
    """x^(n − 1) modulo x² − p·x − q, by squaring: its coefficients weigh the first two terms."""

    def times(one: Pair, other: Pair) -> Pair:
        square = one[1] * other[1]
        return (one[0] * other[0] + q * square) % m, (one[0] * other[1] + one[1] * other[0] + p * square) % m

    result, power, left = (1, 0), (0, 1), n - 1
    while left:
        if left % 2:
            result = times(result, power)
        power = times(power, power)
        left //= 2
    return (result[0] * a + result[1] * b) % m


def _powers_direct(n: int, m: int) -> int:
    return int(sum(k ** (n + 1 - k) for k in range(1, n + 1)) % m)


def _powers_better(n: int, m: int) -> int:
    remainder = 0
    for exponent in range(1, n + 1):
        remainder += pow(n + 1 - exponent, exponent, m)
    return int(remainder % m)


def _repeating_direct(n: int, b: int) -> int:
    total = 0
    for d in range(2, n + 1):
        if gcd(d, b) == 1:
            rest, length = b % d, 1
            while rest != 1:
                rest, length = rest * b % d, length + 1
            total += length
    return total


def _repeating_better(n: int, b: int) -> int:
    """The period is the order of b modulo d: phi(d), less the primes that can be taken out of it."""
    total = 0
    for d in range(2, n + 1):
        if gcd(d, b) > 1:
            continue
        order = d
        for prime in _prime_factors(d):
            order -= order // prime
        for prime in _prime_factors(order):
            while order % prime == 0 and pow(b, order // prime, d) == 1:
                order //= prime
        total += order
    return total


def _prime_factors(number: int) -> list[int]:
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            found.append(divisor)
            while number % divisor == 0:
                number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


POWERS = (
    Family(
        "linear",
        "The first two terms of a sequence are {a} and {b}. Each further term is {p} times the term before it plus {q} "
        "times the term before that.\nWhat remains of term number {n} when it is divided by {m}?",
        {
            "a": range(1, 10),
            "b": range(10, 20),
            "p": range(2, 10),
            "q": range(2, 10),
            "n": range(20000, 60000),
            "m": range(900001, 999999, 2),
        },
        _linear_direct,
        _linear_better,
    ),
    Family(
        "powers",
        "Raise 1 to the power {n}, raise 2 to the next smaller power, 3 to the one below that, and so on, until {n} is "
        "raised to the power 1. Add all results.\nWhat remains of the sum when it is divided by {m}?",
        {"n": range(150, 300), "m": range(10**8 + 1, 10**8 + 1000)},
        _powers_direct,
        _powers_better,
    ),
    Family(
        "repeating",
        "Written in base {b}, with digits after the point, 1/d repeats a block of digits for ever if d has no divisor "
        "but 1 in common with {b}. The period of d is the length of the shortest such block.\n"
        "Add the periods of all these d from 2 to {n}. What is the sum?",
        {"b": range(6, 15), "n": range(250, 500)},
        _repeating_direct,
        _repeating_better,
    ),
)
