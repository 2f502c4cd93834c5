"""The one thread that computes: models are not safe to share, and one thread's memory is reused by the next call."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="engine")


async def compute(work: Callable[..., T], *arguments: object) -> T:
    """Runs `work` in the engine's thread, leaving the event loop free."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work, *arguments)
