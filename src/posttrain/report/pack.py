"""Data inside a page: compressed, so that thousands of traces stay small, and inert, whatever text they hold."""

import base64
import gzip
import json
from typing import Any


def packed(name: str, value: Any) -> str:
    """A script element that no browser runs, holding `value` as gzipped JSON in base64; read it by its id `name`.

    Base64 has no `<`, so no text can end the element; half surrogates pass as JSON escapes.
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    data = base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
    return f'<script type="application/octet-stream" id="{name}">{data}</script>'
