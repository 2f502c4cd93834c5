import base64
import gzip
import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from posttrain.report.pack import packed

TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # half surrogates included
VALUES = st.recursive(TEXT | st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.lists, max_leaves=10)


@given(VALUES)
def test_what_is_packed_comes_out_again_and_holds_no_markup(value: Any) -> None:
    found = re.fullmatch(
        r'<script type="application/octet-stream" id="x">([A-Za-z0-9+/=]+)</script>', packed("x", value)
    )
    assert found
    assert json.loads(gzip.decompress(base64.b64decode(found[1]))) == value


def test_the_same_value_gives_the_same_text() -> None:
    assert packed("x", [1, "a"]) == packed("x", [1, "a"])
