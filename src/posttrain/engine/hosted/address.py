"""Where the service is, and the SDK's client of its lists."""

import os
import re

from tinker import RestClient

DEFAULT_URL = "https://tinker.thinkingmachines.dev/services/tinker-prod"
_LOGIN = re.compile(r"(?<=://)[^/\s]*@")

# The SDK's reports of failures hold stack traces and request headers, hence keys and paths: only if the user asks.
os.environ.setdefault("TINKER_TELEMETRY", "0")


def base_url() -> str:
    """The service in use: TINKER_BASE_URL, else the hosted one."""
    return (os.environ.get("TINKER_BASE_URL") or DEFAULT_URL).rstrip("/")


def shown_url() -> str:
    """`base_url` as a message may show it: without user and password."""
    return _LOGIN.sub("…@", base_url())


def rest_client() -> RestClient:
    """A client for what needs no session; the SDK keeps its connections by address, so it is named."""
    return RestClient(base_url=base_url())
