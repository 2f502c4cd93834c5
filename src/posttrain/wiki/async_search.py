"""Search for many episodes at once: off the event loop, and each distinct query answered once."""

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor

from posttrain.wiki.search import Hit, Searcher


class AsyncSearcher:
    """Wraps a `Searcher` for coroutines; usable from any event loop and from several in turn."""

    def __init__(self, searcher: Searcher, threads: int = 2, remembered: int = 4096) -> None:
        """`threads` searches run at a time; the answers to the last `remembered` distinct queries are kept."""
        self._searcher = searcher
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._remembered = remembered
        # Running and finished searches alike, least recently used first: a repeat waits for or reuses the same one.
        self._answers: OrderedDict[tuple[str, int], Future[list[Hit]]] = OrderedDict()
        self._lock = threading.Lock()

    async def search(self, query: str, k: int) -> list[Hit]:
        """As `Searcher.search`; the list and its rows are the caller's own."""
        answer = self._answer(query, k)
        if not answer.done():
            # Shielded: a cancelled episode must not cancel the search that others wait for.
            await asyncio.shield(asyncio.wrap_future(answer))
        return [hit.copy() for hit in answer.result()]

    def _answer(self, query: str, k: int) -> Future[list[Hit]]:
        key = (query, k)
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None and not (answer.done() and answer.exception()):
                self._answers.move_to_end(key)
                return answer
            answer = self._answers[key] = self._pool.submit(self._searcher.search, query, k)
            while len(self._answers) > self._remembered:
                self._answers.popitem(last=False)
            return answer

    def close(self) -> None:
        """Waits for running searches and ends the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)
