"""The spending cap: nothing goes out that could pass it, and everything that came back is booked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from posttrain.errors import BudgetError
from posttrain.ledger.account import Account
from posttrain.ledger.price import PriceSettings, Tokens
from posttrain.ledger.spend import Charge
from posttrain.ledger.store import SampleStore

Book = Callable[[Tokens], None]


class Purse:
    """What one process may spend on a model, for an account, up to `cap` USD for the account's project in all.

    Other processes' charges count as soon as they are written; what they have in flight is not seen here. So two
    processes can pass the cap by at most what one of them has in flight, and one alone cannot.
    """

    def __init__(self, store: SampleStore, account: Account, model: str, prices: PriceSettings, cap: float) -> None:
        self.account, self.model, self.prices, self.cap = account, model, prices, cap
        self.drawn = Tokens()  # by this process
        self._store = store
        self._reserved, self._holders = 0.0, 0
        self._settled = asyncio.Event()

    @property
    def left(self) -> float:
        """USD that may still be reserved."""
        return self.cap - self._store.spend.spent(self.account.project) - self._reserved

    @asynccontextmanager
    async def reserve(self, worst: Tokens) -> AsyncIterator[Book]:
        """Holds the price of the worst case until the block ends; the block books what it really was.

        A reservation that would pass the cap waits for others to settle, which mostly cost less than their worst.

        Raises:
            BudgetError: it would pass the cap with nothing left to wait for; all that is under way has then come back.
        """
        while self._holders and self.prices.usd(worst) > self.left:
            await self._settled.wait()
        with self.reserve_now(worst) as book:
            yield book

    @contextmanager
    def reserve_now(self, worst: Tokens) -> Iterator[Book]:
        """As `reserve`, for what cannot wait."""
        usd = self.prices.usd(worst)
        if usd and usd > self.left:
            raise self._refusal(usd)
        self._reserved, self._holders = self._reserved + usd, self._holders + 1
        try:
            yield self.book
        finally:
            # Nothing is awaited here: what was booked and the samples it paid for reach the store in one tick.
            self._holders -= 1
            self._reserved = self._reserved - usd if self._holders else 0.0  # no rounding is left behind
            self._settled.set()
            self._settled = asyncio.Event()

    def book(self, tokens: Tokens) -> None:
        """Charges what came back."""
        self.drawn += tokens
        usd, discount = self.prices.usd(tokens), self.prices.discount(tokens)
        self._store.charge(Charge(self.account, self.model, tokens, usd, discount))

    def _refusal(self, usd: float) -> BudgetError:
        spent = self._store.spend.spent(self.account.project)
        return BudgetError(
            f"budget.usd is {self.cap:g} and {spent:.4f} USD are spent, so {usd:.4f} more could pass it; raise "
            "budget.usd in params.yaml and run `dvc repro` again: it goes on from here, and nothing is paid for twice"
        )
