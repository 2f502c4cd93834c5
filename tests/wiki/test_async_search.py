import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from posttrain.errors import SettingsError
from posttrain.wiki.async_search import AsyncSearcher
from posttrain.wiki.search import Hit, Searcher
from tests.wiki.corpora import PARAGRAPHS, built, titles


class CountingSearcher(Searcher):
    """A real searcher that counts its searches and can be held back."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[str] = []
        self.open = threading.Event()
        self.open.set()

    def search(self, query: str, k: int) -> list[Hit]:
        self.asked.append(query)
        assert self.open.wait(10)
        return super().search(query, k)


@pytest.fixture
def counting(tmp_path: Path) -> CountingSearcher:
    return CountingSearcher(built(tmp_path, PARAGRAPHS))


@pytest.fixture
def searcher(counting: CountingSearcher) -> Iterator[AsyncSearcher]:
    wrapped = AsyncSearcher(counting, threads=2, remembered=2)
    yield wrapped
    counting.open.set()
    wrapped.close()


def test_finds_what_the_searcher_finds(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    assert asyncio.run(searcher.search("mathematician", 3)) == counting.search("mathematician", 3)


def test_equal_queries_are_answered_once(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    async def group() -> list[list[Hit]]:
        together = await asyncio.gather(*(searcher.search("city", 2) for _ in range(20)))
        return [*together, await searcher.search("city", 2)]

    answers = asyncio.run(group())
    assert counting.asked == ["city"]
    assert all(titles(answer) == ["Turin"] for answer in answers)


def test_another_k_is_another_query(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    assert len(asyncio.run(searcher.search("mathematician", 1))) == 1
    assert len(asyncio.run(searcher.search("mathematician", 2))) == 2
    assert len(counting.asked) == 2


def test_each_caller_owns_its_answer(searcher: AsyncSearcher) -> None:
    first = asyncio.run(searcher.search("city", 2))
    first[0]["title"] = "changed"
    first.clear()
    assert titles(asyncio.run(searcher.search("city", 2))) == ["Turin"]


def test_the_least_recently_used_answer_is_forgotten(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    async def ask() -> None:
        for query in ("city", "dance", "city", "machine", "city", "dance"):
            await searcher.search(query, 1)

    asyncio.run(ask())
    assert counting.asked == ["city", "dance", "machine", "dance"]


def test_the_event_loop_runs_while_a_search_does(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    async def ticks_during_search() -> int:
        counting.open.clear()
        search = asyncio.create_task(searcher.search("city", 1))
        ticks = 0
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            await asyncio.sleep(0.001)
            ticks += 1
        assert not search.done()
        counting.open.set()
        await search
        return ticks

    assert asyncio.run(ticks_during_search()) > 5


def test_a_cancelled_caller_does_not_cancel_the_others(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    async def cancel_one() -> list[Hit]:
        counting.open.clear()
        blockers = [asyncio.create_task(searcher.search(query, 1)) for query in ("dance", "machine")]
        first, second = (asyncio.create_task(searcher.search("city", 1)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        assert first.cancelled()
        counting.open.set()
        await asyncio.gather(*blockers)
        return await second

    assert titles(asyncio.run(cancel_one())) == ["Turin"]


def test_a_loop_that_ends_early_does_not_spoil_the_next(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    async def give_up() -> None:
        counting.open.clear()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(searcher.search("city", 1), 0.01)

    asyncio.run(give_up())
    counting.open.set()
    assert titles(asyncio.run(searcher.search("city", 1))) == ["Turin"]


def test_failures_reach_the_caller_and_are_not_remembered(counting: CountingSearcher, searcher: AsyncSearcher) -> None:
    for _ in range(2):
        with pytest.raises(SettingsError):
            asyncio.run(searcher.search("city", 0))
    assert len(counting.asked) == 2
