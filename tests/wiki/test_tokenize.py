import unicodedata

import bm25s
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st

from posttrain.wiki.tokenize import QueryTokenizer

TOKENIZER = QueryTokenizer(STOPWORDS_EN)
WORDS = ["The", "running", "café's", "U.S.", "x_1", "of", "1999", "ﬁne", "İzmir", "e\u0301", "-", "a"]
SOME_TEXT = st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join)


@given(SOME_TEXT)
def test_stems_are_those_of_bm25s_on_nfc_text(text: str) -> None:
    stemmer = Stemmer.Stemmer("english")
    nfc = unicodedata.normalize("NFC", text)
    [expected] = bm25s.tokenize(nfc, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
    assert TOKENIZER.stems(text) == expected


@given(SOME_TEXT)
def test_composed_and_decomposed_text_have_the_same_stems(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert TOKENIZER.stems(decomposed) == TOKENIZER.stems(unicodedata.normalize("NFC", text))


@given(SOME_TEXT)
def test_no_stem_is_empty_because_bm25s_keeps_the_empty_token_for_itself(text: str) -> None:
    assert "" not in TOKENIZER.stems(text)
