"""The index of the pipeline, opened for coroutines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posttrain.wiki.async_search import AsyncSearcher
from posttrain.wiki.environment import SearchCorpus
from posttrain.wiki.search import Searcher

INDEX = Path("data/index")


@contextmanager
def open_search(closed_book: bool = False) -> Iterator[SearchCorpus]:
    """Search over data/index until the block ends; a closed book has nothing to open and finds nothing."""
    if closed_book:

        async def nothing(_query: str, _k: int) -> Sequence[Mapping[str, Any]]:
            return []

        yield nothing
        return
    searcher = AsyncSearcher(Searcher(INDEX))
    try:
        yield searcher.search
    finally:
        searcher.close()
