"""The prices that hold for an engine."""

from posttrain.engine.settings import EngineSettings
from posttrain.errors import BudgetError
from posttrain.ledger.price import FREE, PriceSettings


def prices_of(engine: EngineSettings, prices: PriceSettings) -> PriceSettings:
    """`prices`, or none at all on the user's own machine, where nothing costs anything.

    Raises:
        BudgetError: `prices` are another model's.
    """
    if engine.name == "local":
        return FREE
    if prices.model != engine.model:
        whose = f"those of {prices.model}" if prices.model else "no model's"
        raise BudgetError(
            f"prices in params.yaml are {whose} and engine.model is {engine.model}; set prices.model and its four "
            "prices in USD per million tokens (0 on a cluster of your own)"
        )
    return prices
