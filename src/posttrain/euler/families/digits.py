"""Problems about how numbers are written."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb

from posttrain.euler.families.family import Family


def _digit_total_direct(n: int) -> int:
    return sum(int(digit) for k in range(1, n + 1) for digit in str(k))


def _digit_total_better(n: int) -> int:
    total, place = 0, 1
    while place <= n:
        above, digit, below = n // (place * 10), n // place % 10, n % place
        total += above * 45 * place + digit * (digit - 1) // 2 * place + digit * (below + 1)
        place *= 10
    return total


def _rising_direct(n: int) -> int:
    return sum(1 for k in range(1, n + 1) if list(str(k)) == sorted(set(str(k))))


def _rising_better(n: int) -> int:
    return sum(int("".join(digits)) <= n for size in range(1, 10) for digits in combinations("123456789", size))


def _ones_direct(n: int, k: int) -> int:
    return sum(number for number in range(n) if bin(number).count("1") == k)


def _ones_better(n: int, k: int) -> int:
    """Splits the numbers below n by the first bit in which they differ from it."""
    total, before, left = 0, 0, k
    for bit in range(n.bit_length() - 1, -1, -1):
        if not n >> bit & 1:
            continue
        if left >= 0:
            total += before * comb(bit, left)
            if left and bit:
                total += comb(bit - 1, left - 1) * (2**bit - 1)
        before += 2**bit
        left -= 1
    return total


def _palindromes_direct(n: int, b: int) -> int:
    total = 0
    for number in range(1, n + 1):
        digits, rest = [], number
        while rest:
            rest, digit = divmod(rest, b)
            digits.append(digit)
        if digits == digits[::-1]:
            total += number
    return total


def _palindromes_better(n: int, b: int) -> int:
    return sum(number for number in _mirrored(n, b) if number <= n)


def _mirrored(n: int, b: int) -> Iterator[int]:
    """The palindromes in base b of no more digits than n, made from their first halves."""
    size = 1
    while b ** (size - 1) <= n:
        half = (size + 1) // 2
        for first in range(b ** (half - 1), b**half):
            number, rest = first, first if size % 2 == 0 else first // b
            for _ in range(size // 2):
                rest, digit = divmod(rest, b)
                number = number * b + digit
            yield number
        size += 1


def _cube_chain_direct(n: int) -> int:
    steps = 0
    for number in range(3, n + 1, 3):
        while number != 153:
            number = sum(int(digit) ** 3 for digit in str(number))
            steps += 1
    return steps


def _cube_chain_better(n: int) -> int:
    @cache
    def steps(digits: str) -> int:
        after = sum(int(digit) ** 3 for digit in digits)
        return 1 if after == 153 else 1 + steps("".join(sorted(str(after))))

    return sum(steps("".join(sorted(str(number)))) for number in range(3, n + 1, 3)) - (1 if n >= 153 else 0)


DIGITS = (
    Family(
        "digit_total",
        "Somebody writes down all whole numbers from 1 to {n}, one after the other.\n"
        "What is the sum of all the digits on the paper?",
        {"n": range(20000, 60000)},
        _digit_total_direct,
        _digit_total_better,
    ),
    Family(
        "rising",
        "Call a whole number rising if each of its digits is larger than the digit to its left; numbers with one digit "
        "are rising, 1389 is, and 1338 is not.\nHow many rising numbers are there from 1 to {n}?",
        {"n": range(20000, 60000)},
        _rising_direct,
        _rising_better,
    ),
    Family(
        "ones",
        "Write the whole numbers below {n} in binary, and keep those with exactly {k} ones.\n"
        "What is their sum, in decimal?",
        {"n": range(30000, 90000), "k": range(4, 9)},
        _ones_direct,
        _ones_better,
    ),
    Family(
        "palindromes",
        "Some whole numbers, written in base {b}, are the same when read from right to left.\n"
        "Find the sum of all such numbers from 1 to {n}, and give it in decimal.",
        {"n": range(20000, 50000), "b": range(3, 10)},
        _palindromes_direct,
        _palindromes_better,
    ),
    Family(
        "cube_chain",
        "Replace a number by the sum of the cubes of its digits, and do the same to the result, again and again. Every "
        "positive multiple of 3 arrives at 153 in the end: 6 becomes 216, 225, 141, 66, 432, 99, 1458, 702, 351, 153, "
        "which takes ten steps, while 153 itself takes none.\n"
        "How many steps do all positive multiples of 3 up to {n} take together?",
        {"n": range(3000, 9000)},
        _cube_chain_direct,
        _cube_chain_better,
    ),
)
