"""Task 2: what the goods of an inventory are worth."""

from posttrain.euler.transfer.template import Template, between, draws, one_of, text_file

_ROWS = 180
_THINGS = ("bolt", "bracket", "cable", "filter", "hinge", "lamp", "pump", "valve")
_STATES = ("active", "active", "active", "inactive", "blocked")


def _files(_language: str) -> dict[str, bytes]:
    source = draws(22)
    lines = ["sku,item,status,quantity,unit_cost"]
    for number in range(1, _ROWS + 1):
        thing, state = one_of(source, _THINGS), one_of(source, _STATES)
        quantity, cents = between(source, -15, 140), between(source, 19, 24999)
        lines.append(f"S{number:04d},{thing},{state},{quantity},{cents // 100}.{cents % 100:02d}")
    return {"inventory.csv": text_file(lines)}


INVENTORY = Template(
    "inventory valuation",
    "The file inventory.csv has a header and then one article a line: sku,item,status,quantity,unit_cost. No field is "
    "quoted. quantity is a whole number, below zero where more was sold than is there; unit_cost is in euros with two "
    "decimals. Take the articles whose status is exactly active and whose quantity is above zero. What are they worth "
    "together, quantity times unit_cost summed up? Give the exact value in cents, as a whole number.",
    _files,
    "102214801",
)
