"""Text to stems, the same way for paragraphs and for queries: NFC, lower case, words, no stop words, Snowball English.

The result equals `bm25s.tokenize(NFC text, stopwords="en", stemmer=Stemmer("english"))`, which a test holds it to.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable

import Stemmer

# Runs of two or more word characters. bm25s writes \b\w\w+\b; the boundaries are implied, because a match begins
# at the first word character of a run and takes the whole run, so leaving them out only saves time.
_WORDS = re.compile(r"\w{2,}")
_ASCII_GAPS = str.maketrans({char: " " for char in map(chr, range(128)) if not (char.isalnum() or char == "_")})


def words(text: str) -> list[str]:
    """The lower-case words of a text in order, stop words included."""
    if text.isascii():
        # The same words as below in two thirds of the time; most paragraphs are ASCII, and the index build feels it.
        return [word for word in text.lower().translate(_ASCII_GAPS).split() if len(word) > 1]
    return _WORDS.findall(unicodedata.normalize("NFC", text).lower())


def english_stemmer() -> Stemmer.Stemmer:
    """A Snowball English stemmer without a cache; one instance serves one thread."""
    return Stemmer.Stemmer("english", 0)


class QueryTokenizer:
    """Stems of a query in order, repeats kept; safe to share between threads."""

    def __init__(self, stop_words: Iterable[str]) -> None:
        self._stop_words = frozenset(stop_words)
        self._local = threading.local()

    def stems(self, query: str) -> list[str]:
        stemmer = getattr(self._local, "stemmer", None)
        if stemmer is None:
            stemmer = self._local.stemmer = english_stemmer()
        stems: list[str] = stemmer.stemWords([word for word in words(query) if word not in self._stop_words])
        return stems
