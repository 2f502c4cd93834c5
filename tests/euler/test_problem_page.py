import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.euler.found import Reference
from posttrain.euler.problem_page import read_page


def text(html: str) -> str | None:
    return read_page(html.encode()).text


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<p>One\n two.</p>\n<p>Three?</p>", "One two.\n\nThree?"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("2<sup>10</sup> and x<sub>i</sub>, 2<sup>n+1</sup>", "2^10 and x_i, 2^(n+1)"),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n\n- two"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 2\n3"),
        ("<pre>1 2\n3 4</pre>", "1 2\n3 4"),
        ("a &lt; b &amp; c&nbsp;d", "a < b & c d"),
        ("$a \\lt b$ stays", "$a \\lt b$ stays"),
        ("<title>Site</title><script>x()</script><style>p{}</style><p>kept</p>", "kept"),
        ("see <img src='images/grid.png' alt='a grid'> here", "see [image: a grid] here"),
        ("see <img src='images/grid.png'> here", "see [image: grid.png] here"),
        ("<p>never closed", "never closed"),
        ("5 < 6 and 7 > 2", "5 < 6 and 7 > 2"),
    ],
)
def test_text(html: str, wanted: str) -> None:
    assert text(html) == wanted


def test_only_the_problem_is_taken_from_a_whole_page() -> None:
    page = read_page(
        b"<html><head><title>T</title></head><body><a href='resources/menu.txt'>menu</a><h2>Name</h2>"
        b"<div class='problem_content' role='problem'><div>Inner</div><p>Text <a href='resources/a.txt'>a</a></p></div>"
        b"<div>Footer</div></body></html>"
    )
    assert page.text == "Inner\n\nText a"
    assert [reference.name for reference in page.references] == ["a.txt"]
    assert page.trouble == ()


@pytest.mark.parametrize(
    ("html", "why"),
    [
        (b"", "no text"),
        (b"<p> </p><!-- all of it -->", "no text"),
        (b"<p>What is the sum of <a href='reso", "ends inside a tag"),
        (b"<p>What is <!-- the sum", "ends inside a tag"),
        (b"<p>What\0 is it?</p>", "zero bytes"),
    ],
)
def test_a_broken_page_has_no_text_and_says_why(html: bytes, why: str) -> None:
    page = read_page(html)
    assert page.text is None
    assert why in " ".join(page.trouble)


def test_what_can_be_read_in_spite_of_its_flaws_is_doubtful() -> None:
    page = read_page("<p>caf\xe9?</p>".encode("latin-1"))
    assert page.text == "café?"
    assert "UTF-8" in page.trouble[0]
    page = read_page(b"<div class='problem_content'><p>Text")
    assert page.text == "Text"
    assert "never closed" in page.trouble[0]


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href='resources/documents/0022_names.txt?12'>x</a>", [("0022_names.txt", "document")]),
        ("<a href='project/resources/p022_names.txt'>x</a>", [("p022_names.txt", "document")]),
        ("<a href='https://projecteuler.net/resources/a.txt'>x</a>", [("a.txt", "document")]),
        ("<a href='resources/a.png'>x</a>", [("a.png", "image")]),
        ("<img src='images/p15.gif'>", [("p15.gif", "image")]),
        ("<a href='problem=18'>x</a>", []),
        ("<a href='about.html'>x</a>", []),
        ("<a href='https://en.wikipedia.org/wiki/File.txt'>x</a>", []),
        ("<a href='mailto:a@b.txt'>x</a>", []),
        ("<a href='resources/..%2f..%2fpasswd.txt'>x</a>", [("passwd.txt", "document")]),
        ("<a href='resources/a b;c.txt'>x</a>", [("a_b_c.txt", "document")]),
        ("<a href='http://[broken'>x</a>", []),
        ("<img src='data:image/png;base64,AAAA'>", []),
    ],
)
def test_references(html: str, wanted: list[tuple[str, str]]) -> None:
    found = read_page(f"text {html}".encode()).references
    assert [(reference.name, reference.kind) for reference in found] == wanted


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_page(content: bytes) -> None:
    page = read_page(content)
    assert page.text is None or page.text.strip() == page.text != ""
    assert page.text is not None or page.trouble


@settings(max_examples=60, deadline=None)
@given(st.text("<>/ab \n'\"=-!&;#supli", max_size=80))
def test_any_html_gives_a_page(html: str) -> None:
    page = read_page(html.encode())
    assert (page.text is None) <= bool(page.trouble)
    assert all(isinstance(reference, Reference) and "/" not in reference.name for reference in page.references)
