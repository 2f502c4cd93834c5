"""Debian's Chromium, driven by playwright, with the network cut."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
missing = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt install chromium")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser that is not let out, not even to this machine."""
    api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    with api.sync_playwright() as started:
        # No sandbox of its own: tests may run as root, and the pages are ours. The proxy leads nowhere.
        cut = ["--no-sandbox", "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>"]
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=cut)
        try:
            yield chromium
        finally:
            chromium.close()
