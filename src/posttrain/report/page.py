"""One HTML file that works from disk: style and script inside, nothing loaded, nothing run but its own script."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

_ASSETS = files("posttrain.report") / "assets"


@dataclass(frozen=True)
class Section:
    """`body` is HTML that is safe already; it goes under a heading and into the page's navigation."""

    id: str
    title: str
    body: str


def page(title: str, sections: Sequence[Section], data: Sequence[str]) -> str:
    """The whole file.

    Its content security policy lets nothing be loaded or sent and runs no script but the one whose hash it names, so
    that text which slipped through as markup would still do nothing. `data` are elements of `report.pack`.
    """
    script, style = asset("reader.js"), asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    links = "".join(f'<a href="#{section.id}">{escape(section.title)}</a>' for section in sections)
    bodies = "".join(
        f'<section id="{section.id}"><h2>{escape(section.title)}</h2>{section.body}</section>' for section in sections
    )
    metas = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
    )
    inert = "\n".join(data)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{metas}'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><header><h1>{escape(title)}</h1>"
        f'<nav aria-label="Sections">{links}<button type="button" id="theme">Light or dark</button></nav></header>\n'
        f"<main>{bodies}</main>\n{inert}\n<script>{script}</script></body></html>\n"
    )


def asset(name: str) -> str:
    """A file that belongs to the page."""
    return (_ASSETS / name).read_text(encoding="utf-8")
