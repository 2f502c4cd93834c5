"""The pictures of the docs, made from the project as it is: the stages' diagram and the report's views.

Run by `make docs`, after `make factory`; the views need Chromium and playwright.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx

ROOT = Path(__file__).parents[1]
MARKS = ("<!-- dvc dag -->\n", "<!-- end -->\n")
VIEWS = {
    "report-summary": ("", "#summary"),
    "report-training": ("", "#curves"),
    "report-failures": ("", "#failures"),
    "report-trace": ("#arm=grpo&label=misread", "#traces"),
    "report-side-by-side": ("#arm=grpo&label=misread&compare=1", "#traces"),
}
"""Name of the picture, the fragment of the address, and the element that is shown."""


def diagram() -> str:
    """`dvc dag` as Mermaid, the stages of one kind drawn as one, without edges that follow from others.

    Only those of the project's own dvc.yaml: a recipe in a folder is a pipeline by itself.
    """
    command = [sys.executable, "-m", "dvc", "dag", "--mermaid"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {node: stage.partition("@")[0] for node, stage in re.findall(r'(node\d+)\["([^/]+?)"\]', text)}
    graph: Any = networkx.DiGraph()
    graph.add_nodes_from(sorted(set(names.values())))
    graph.add_edges_from((names[a], names[b]) for a, b in re.findall(r"(node\d+)-->(node\d+)", text) if a in names)
    reduced = networkx.transitive_reduction(graph)
    edges = [f"  {a} --> {b}" for a, b in sorted(reduced.edges)]
    return "\n".join(["```mermaid", "flowchart TD", *edges, "```", ""])


def put_diagram(page: Path, drawn: str) -> None:
    """Puts the diagram between the page's marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}{drawn}{MARKS[1]}{rest.partition(MARKS[1])[2]}", encoding="utf-8")


def take_views(report: Path, folder: Path) -> None:
    """A picture of each view of the report."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (fragment, element) in VIEWS.items():
            page = browser.new_page(viewport={"width": 1100, "height": 850})
            page.goto(f"{report.as_uri()}{fragment}")
            page.wait_for_selector("html[data-ready]")
            page.locator(element).screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    put_diagram(ROOT / "docs/architecture.md", diagram())
    take_views(ROOT / "report.html", ROOT / "docs/img")
