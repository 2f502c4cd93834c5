"""The embedded default: problems of this project's own, of rising difficulty, each with an answer that is computed.

Another seed gives the same problems with other numbers: variants, which no model can have seen.
"""

from posttrain.euler.families.choices import CHOICES
from posttrain.euler.families.digits import DIGITS
from posttrain.euler.families.divisors import DIVISORS
from posttrain.euler.families.family import Family
from posttrain.euler.families.lists import LISTS
from posttrain.euler.families.powers import POWERS
from posttrain.euler.families.shapes import SHAPES
from posttrain.euler.families.sums import SUMS
from posttrain.euler.found import Draft, Found, Reference

FAMILIES = {family.name: family for family in (*SUMS, *DIGITS, *DIVISORS, *POWERS, *SHAPES, *CHOICES, *LISTS)}
ORDER = (
    "odd_cubes",
    "neither",
    "remainders",
    "alternating",
    "digit_total",
    "pair_products",
    "rising",
    "divisor_table",
    "primes_ending",
    "squarefree",
    "most_divisors",
    "coprime_pairs",
    "ones",
    "linear",
    "staircase",
    "lattice",
    "prime_gap",
    "drops",
    "circle",
    "change",
    "right_triangles",
    "powers",
    "palindromes",
    "cube_chain",
    "stretch",
    "climb",
    "repeating",
    "board",
    "crossing",
    "subsets",
    "dominoes",
    "apart",
)
"""Problem 1 first."""


def generate(seed: int) -> Found:
    """All problems with the numbers of `seed`.

    Raises:
        SettingsError: a problem has no numbers for it.
    """
    provenance = {"maker": "posttrain.euler.generated", "seed": seed}
    found = Found(f"generated-{seed}", "Apache-2.0", commercial_use=True, provenance=provenance)
    for number, name in enumerate(ORDER, 1):
        found.drafts[number] = _draft(found, number, FAMILIES[name], seed)
    return found


def _draft(found: Found, number: int, family: Family, seed: int) -> Draft:
    numbers = family.draw(seed)
    files = family.files(**numbers)
    for name, text in files.items():
        found.files[number, name] = text.encode()
    return Draft(
        texts=[family.wording.format(**numbers)],
        answers=[str(family.better(**numbers))],
        references=[Reference(name, "document", name) for name in files],
    )
