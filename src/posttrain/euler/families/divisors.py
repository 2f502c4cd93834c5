"""Problems about primes and divisors."""

from itertools import pairwise
from math import gcd, isqrt

from posttrain.euler.families.family import Family


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _sieved(limit: int) -> list[int]:
    """The primes up to `limit`."""
    prime = bytearray([1]) * (limit + 1)
    prime[:2] = b"\0\0"
    for number in range(2, isqrt(limit) + 1):
        if prime[number]:
            prime[number * number :: number] = bytes(len(range(number * number, limit + 1, number)))
    return [number for number in range(limit + 1) if prime[number]]


def _primes_ending_direct(a: int, b: int, d: int) -> int:
    return sum(number for number in range(a, b + 1) if number % 10 == d and _is_prime(number))


def _primes_ending_better(a: int, b: int, d: int) -> int:
    return sum(prime for prime in _sieved(b) if prime >= a and prime % 10 == d)


def _prime_gap_direct(n: int) -> int:
    widest, found, before = 0, 0, 2
    for number in range(3, n):
        if _is_prime(number):
            if number - before > widest:
                widest, found = number - before, before
            before = number
    return found


def _prime_gap_better(n: int) -> int:
    primes = _sieved(n - 1)
    gaps = [after - before for before, after in pairwise(primes)]
    return primes[gaps.index(max(gaps))]


def _most_divisors_direct(n: int) -> int:
    def divisors(number: int) -> int:
        root = isqrt(number)
        return 2 * sum(number % d == 0 for d in range(1, root + 1)) - (root * root == number)

    return max(range(1, n + 1), key=lambda number: (divisors(number), -number))


def _most_divisors_better(n: int) -> int:
    counts = [0] * (n + 1)
    for divisor in range(1, n + 1):
        for multiple in range(divisor, n + 1, divisor):
            counts[multiple] += 1
    return counts.index(max(counts))


def _divisor_table_direct(n: int) -> int:
    return sum(d for number in range(1, n + 1) for d in range(1, number + 1) if number % d == 0)


def _divisor_table_better(n: int) -> int:
    return sum(d * (n // d) for d in range(1, n + 1))


def _coprime_pairs_direct(n: int) -> int:
    return sum(gcd(a, b) == 1 for b in range(2, n + 1) for a in range(1, b))


def _coprime_pairs_better(n: int) -> int:
    phi = list(range(n + 1))
    for prime in _sieved(n):
        for multiple in range(prime, n + 1, prime):
            phi[multiple] -= phi[multiple] // prime
    return sum(phi[2:])


def _squarefree_direct(n: int) -> int:
    return sum(all(k % (i * i) for i in range(2, isqrt(k) + 1)) for k in range(1, n + 1))


def _squarefree_better(n: int) -> int:
    """By the Möbius function: numbers with a square divisor are taken out and put back in."""
    mobius = [1] * (isqrt(n) + 1)
    for prime in _sieved(isqrt(n)):
        for multiple in range(prime, len(mobius), prime):
            mobius[multiple] = 0 if multiple // prime % prime == 0 else -mobius[multiple]
    return sum(mobius[i] * (n // (i * i)) for i in range(1, len(mobius)))


DIVISORS = (
    Family(
        "divisor_table",
        "A table has one row for each whole number from 1 to {n}. The row of a number lists all its divisors, 1 and "
        "the number itself among them.\nWhat do all entries of the table add up to?",
        {"n": range(700, 1300)},
        _divisor_table_direct,
        _divisor_table_better,
    ),
    Family(
        "primes_ending",
        "What is the sum of the primes from {a} to {b} whose last digit is {d}?",
        {"a": range(1000, 5000), "b": range(20000, 40000), "d": (1, 3, 7, 9)},
        _primes_ending_direct,
        _primes_ending_better,
    ),
    Family(
        "squarefree",
        "How many of the whole numbers from 1 to {n} cannot be divided by the square of any whole number above 1?",
        {"n": range(8000, 16000)},
        _squarefree_direct,
        _squarefree_better,
    ),
    Family(
        "most_divisors",
        "Which whole number from 1 to {n} has the most divisors? If several have as many, give the smallest.",
        {"n": range(3000, 9000)},
        _most_divisors_direct,
        _most_divisors_better,
    ),
    Family(
        "coprime_pairs",
        "In how many pairs of different whole numbers from 1 to {n} do the two have no common divisor but 1? The order "
        "within a pair does not matter.",
        {"n": range(300, 600)},
        _coprime_pairs_direct,
        _coprime_pairs_better,
    ),
    Family(
        "prime_gap",
        "List the primes below {n} in order, and look at the distances between neighbours. Find the pair of neighbours "
        "that lie farthest apart; if there are several such pairs, the first.\nWhat is the smaller prime of the pair?",
        {"n": range(15000, 30000)},
        _prime_gap_direct,
        _prime_gap_better,
    ),
)
