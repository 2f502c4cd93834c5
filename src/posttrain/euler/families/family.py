"""One kind of generated problem: its wording, the numbers that it may take, and two ways to solve it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from posttrain.errors import SettingsError

_TRIES = 1000


@dataclass(frozen=True)
class Family:
    """The functions take the drawn numbers by name.

    wording: the problem, with {name} where a number goes. choices: what each number may be.
    direct: follows the wording, however slow. better: another way, which shares no work with `direct`.
    fits: whether numbers go together. files: the files that the wording speaks of, by name.
    """

    name: str
    wording: str
    choices: Mapping[str, Sequence[int]]
    direct: Callable[..., int]
    better: Callable[..., int]
    fits: Callable[..., bool] = lambda **_: True
    files: Callable[..., dict[str, str]] = lambda **_: {}

    def draw(self, seed: int) -> dict[str, int]:
        """The numbers that belong to `seed`, the same on every machine and with every Python.

        Raises:
            SettingsError: of a thousand draws none fits.
        """
        for attempt in range(_TRIES):
            numbers = {
                key: choice[_hashed(f"{seed} {self.name} {key} {attempt}") % len(choice)]
                for key, choice in self.choices.items()
            }
            if self.fits(**numbers):
                return numbers
        raise SettingsError(f"seed {seed} gives the problem {self.name} no numbers that fit; take another seed")


def drawn_terms(start: int, times: int, plus: int, modulus: int, count: int) -> list[int]:
    """The sequence that some wordings describe: each term is `(times · term before + plus) mod modulus`."""
    terms = [start]
    while len(terms) < count:
        terms.append((times * terms[-1] + plus) % modulus)
    return terms


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
