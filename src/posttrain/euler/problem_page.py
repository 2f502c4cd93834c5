"""The text of a problem's HTML page, and the files that it links to."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from posttrain.euler.found import Reference

BASE = "https://projecteuler.net/"
_HEADINGS = ("h1", "h2", "h3", "h4")
_LISTS = ("ul", "ol", "li", "dl", "dt", "dd", "table", "tr")
_BLOCKS = frozenset(("p", "div", "center", "blockquote", "pre", "section", *_HEADINGS, *_LISTS))
_HIDDEN = frozenset(("script", "style", "head", "title", "noscript", "template"))
_IMAGES = (".png", ".gif", ".jpg", ".jpeg", ".svg", ".webp")
_PAGES = ("", ".html", ".htm", ".php")
_CUT = re.compile(r"<[A-Za-z/!]")
_MARKS = {"sup": "^", "sub": "_"}


@dataclass(frozen=True)
class Page:
    """text: None if the page is broken. trouble: what is wrong with it, which may leave the text usable."""

    text: str | None
    references: tuple[Reference, ...]
    trouble: tuple[str, ...]


def read_page(content: bytes) -> Page:
    """Reads a page; of one with an element of class `problem_content`, only that."""
    trouble: list[str] = []
    try:
        html = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        html = content.decode("cp1252", errors="replace")
        trouble.append("it is not UTF-8, and was read as Windows-1252")
    reader = _Reader()
    reader.feed(html)
    broken = []
    if _CUT.match(reader.rawdata.lstrip()):
        broken.append("it ends inside a tag or comment")
    if "\0" in html:
        broken.append("it holds zero bytes")
    reader.close()
    if reader.region_depth > 0:
        trouble.append("its problem_content is never closed")
    text = _tidy("".join(reader.region))
    if not text:
        broken.append("it has no text")
    references = tuple(filter(None, map(_reference, reader.links)))
    return Page(None if broken else text, references, (*trouble, *broken))


@dataclass
class _Open:
    """A raised or lowered piece of text, begun at a place in the pieces."""

    tag: str
    start: int


@dataclass
class _State:
    pieces: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    open_marks: list[_Open] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.hidden = self.preformatted = 0
        self.region_depth = 0
        self._page, self._region = _State(), _State()
        self._seen_region = False

    @property
    def region(self) -> list[str]:
        return (self._region if self._seen_region else self._page).pieces

    @property
    def links(self) -> list[tuple[str, str]]:
        return (self._region if self._seen_region else self._page).links

    @property
    def _state(self) -> _State:
        return self._region if self.region_depth else self._page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens what has an end, collects links, and sets line ends."""
        given = {name: value or "" for name, value in attrs}
        self.hidden += tag in _HIDDEN
        self.preformatted += tag == "pre"
        if tag == "div" and self.region_depth:
            self.region_depth += 1
        elif tag == "div" and "problem_content" in given.get("class", "").split():
            self.region_depth, self._seen_region = 1, True
        if tag in _MARKS:
            self._state.open_marks.append(_Open(tag, len(self._state.pieces)))
        elif tag == "a" and given.get("href"):
            self._state.links.append(("document", given["href"]))
        elif tag == "img":
            self._image(given)
        elif tag in ("td", "th"):
            self._add(" ")
        elif tag == "br":
            self._add("\n")
        elif tag in _BLOCKS:
            self._add("\n\n- " if tag == "li" else "\n" if tag == "tr" else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        """Closes what is open; an end without a beginning does nothing."""
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        if tag == "pre":
            self.preformatted = max(0, self.preformatted - 1)
        if tag in _MARKS:
            self._close_mark(tag)
        elif tag in _BLOCKS and tag not in ("tr", "li"):
            self._add("\n\n")
        if tag == "div" and self.region_depth:
            self.region_depth -= 1

    def handle_data(self, data: str) -> None:
        self._add(data if self.preformatted else re.sub(r"\s+", " ", data))

    def _image(self, given: dict[str, str]) -> None:
        source = given.get("src", "")
        if source and not source.startswith("data:"):
            self._state.links.append(("image", source))
            self._add(f"[image: {given.get('alt') or PurePosixPath(urlsplit(source).path).name}]")

    def _add(self, piece: str) -> None:
        if not self.hidden:
            self._state.pieces.append(piece)

    def _close_mark(self, tag: str) -> None:
        state = self._state
        if not state.open_marks or state.open_marks[-1].tag != tag:
            return
        start = state.open_marks.pop().start
        inner = "".join(state.pieces[start:]).strip()
        if inner:
            state.pieces[start:] = [_MARKS[tag] + (inner if re.fullmatch(r"[\w.]+", inner) else f"({inner})")]


def _tidy(text: str) -> str:
    lines = [re.sub(r"[ \t\xa0]+", " ", line).strip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _reference(link: tuple[str, str]) -> Reference | None:
    """The file that a link of the page leads to; None if it leads to a page, or to somebody else's site."""
    kind, target = link
    try:
        url = urlsplit(urljoin(BASE, target))
    except ValueError:
        return None
    name = re.sub(r"[^A-Za-z0-9._-]", "_", PurePosixPath(unquote(url.path)).name).lstrip(".")
    suffix = PurePosixPath(name).suffix.lower()
    if kind == "image" and name:
        return Reference(name, "image", target)
    if url.scheme not in ("http", "https") or url.netloc != urlsplit(BASE).netloc or suffix in _PAGES:
        return None
    return Reference(name, "image" if suffix in _IMAGES else "document", target)
