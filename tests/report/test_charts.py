import re
from xml.etree import ElementTree

import pytest

from posttrain.report.charts import Chart, curves, figure_html, intervals, stacked_bars

HOSTILE = "<b onload='x'>&\"]]>"


def made(kind: str, title: str = "A title", name: str = "one") -> Chart:
    match kind:
        case "curves":
            return curves(name, title, {"a b": [(1, 0.5), (2, 0.75)], "c": [(2, 1.0)]}, marks=[(2, f"mend it {title}")])
        case "intervals":
            return intervals(name, title, [(title, 0.5, (0.25, 0.75)), ("other", -1.0, (-2.0, 0.0))], zero=True)
        case _:
            return stacked_bars(name, title, {title: {"good": 3, "bad": 0}, "other": {"bad": 2}}, ["good", "bad"])


KINDS = ["curves", "intervals", "bars"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_well_formed_whatever_it_is_called(kind: str) -> None:
    text = figure_html(made(kind, HOSTILE))
    tree = ElementTree.fromstring(text.replace("xlink:href", "href"))
    assert tree.tag == "figure"
    assert "<b " not in text
    assert HOSTILE in "".join(tree.itertext())


@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_the_page_s_and_ids_the_chart_s(kind: str) -> None:
    picture = made(kind).svg
    assert "#010a0" not in picture
    assert "var(--ink)" in picture
    ids = set(re.findall(r'\bid="([^"]+)"', picture))
    assert ids
    assert all(found.startswith("one-") for found in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', picture)) <= ids
    assert made(kind).svg == picture
    assert made(kind, name="two").svg != picture


def test_the_table_holds_every_number() -> None:
    chart = made("curves")
    assert (chart.header, chart.rows) == (("step", "a b", "c"), [("1", "0.5", ""), ("2", "0.75", "1")])
    assert chart.notes == ["step 2: mend it A title"]
    assert made("bars").rows == [("A title", "3", "0"), ("other", "0", "2")]
    assert made("intervals").rows[0] == ("A title", "0.5000", "0.2500", "0.7500")
    assert 'aria-label="A title: A title 0.500 [0.250, 0.750]; other' in made("intervals").svg


def test_a_curve_without_points_says_so() -> None:
    assert "no data" in curves("none", "Nothing", {"a": []}).svg
