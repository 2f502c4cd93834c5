"""The report in a real browser, from disk, with the network cut."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from posttrain.wiki.ablation import ARMS
from posttrain.wiki.report import report_html
from tests import browser
from tests.families import chat_of
from tests.wiki.report_inputs import TYPES, made_inputs

pytestmark = [browser.missing, pytest.mark.timeout(120)]
HOSTILE = {
    1: "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">",
    2: "'\"`</script></textarea>--><svg/onload=document.title='owned'>",
    4: "null \x00 bell \x07 escape \x1b[31m",
    5: "right \u202eto left\u202c \u200f mark \u2066isolate\u2069",
    7: "x" * 100_000,
    8: "北京 🙂 👩‍👩‍👧 é",
    10: '"}];</script><!-- {{constructor}} ${1}',
}
EPISODES, LIMIT_MB = 600, 15


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser.browser() as started:
        yield started


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chat = chat_of("smollm2")
    human = {("grpo", "q21"): "bad_query"}
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(made_inputs(chat, 60, HOSTILE), human, "1 label by a person", chat), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium: Any, file: Path) -> Iterator[Any]:
    """The page, with a note of whatever it asked for or complained of: there must be neither."""
    page = open_page(chromium, file)
    yield page
    assert page.said == []
    assert page.asked == [file.as_uri()]
    page.close()


def open_page(chromium: Any, file: Path, fragment: str = "", **options: Any) -> Any:
    page = chromium.new_page(viewport={"width": 1280, "height": 900}, **options)
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url.partition("#")[0]))
    page.goto(f"{file.as_uri()}{fragment}")
    page.wait_for_selector("html[data-ready]")
    return page


def ids(page: Any) -> list[str]:
    return list(page.eval_on_selector_all("#list a", "links => links.map(link => link.dataset.id)"))


def choose(page: Any, field: str, value: str) -> None:
    page.select_option(f"#{field}", value)
    settle(page)


def settle(page: Any) -> None:
    """Waits for the filter, which acts a moment after the last key."""
    page.wait_for_timeout(250)


def current(page: Any) -> str:
    return str(page.get_attribute("#list a[aria-current]", "data-id"))


def test_summary_and_every_chart_hold_their_data(opened: Any) -> None:
    rows = opened.locator("#summary table").first.locator("tbody tr")
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == list(ARMS.values())
    told = opened.inner_text("#summary")
    for said in (
        "opened 6 times",
        "ab" * 32,
        "GRPO adds",
        "real, its interval excludes 0",
        "8.50 USD",
        "One training seed",
    ):
        assert said in told
    for name in (
        "loss-sft",
        "reward",
        "skipped",
        "searches",
        "answer-length",
        "gap",
        "gap-tail",
        "spend",
        "recall",
        "val",
    ):
        length = opened.evaluate(
            "name => [...document.querySelectorAll(`#chart-${name} [id*='data-'] path`)]"
            ".reduce((sum, path) => sum + path.getTotalLength(), 0)",
            name,
        )
        assert length > 20, name
    assert opened.locator("#chart-labels [id*='data-labels-']").count() >= 6
    assert opened.locator("#chart-ends [id*='alarm-ends-12']").count() == 1
    assert "step 12: 20.0% of the episodes ran out of searches" in opened.inner_text("#chart-ends .alarm")
    numbers = opened.locator("#chart-reward details")
    numbers.locator("summary").click()
    assert "0.025" in numbers.inner_text()


def test_filters(opened: Any) -> None:
    choose(opened, "arm", "grpo")
    everything = ids(opened)
    assert len(everything) == 60
    choose(opened, "label", "solved")
    solved = ids(opened)
    choose(opened, "label", "failed")
    failed = ids(opened)
    assert sorted(solved + failed) == sorted(everything)
    assert len(solved) > len(failed) > 0
    choose(opened, "label", "bad_query")
    assert 0 < len(ids(opened)) < len(failed)
    assert "bad_query" in opened.inner_text("#shown")
    choose(opened, "label", "")
    choose(opened, "type", TYPES[1])
    assert all(int(each[1:]) % 2 for each in ids(opened))
    choose(opened, "type", "")
    choose(opened, "human", "bad_query")
    assert ids(opened) == ["q21"]
    assert "label by a person" in opened.inner_text("#shown")
    choose(opened, "human", "")
    opened.fill("#to", "0.4")
    opened.press("#to", "Tab")
    settle(opened)
    assert set(ids(opened)) <= set(failed)
    opened.fill("#to", "")
    opened.fill("#from", "0.9")
    opened.press("#from", "Tab")
    settle(opened)
    assert sorted(ids(opened)) == sorted(solved)
    opened.fill("#from", "")
    opened.press("#from", "Tab")
    opened.fill("#text", "oThEr 17")
    settle(opened)
    assert ids(opened) == ["q17"]
    opened.fill("#text", "nowhere to be found")
    settle(opened)
    assert ids(opened) == []
    assert "No episode passes" in opened.inner_text("#shown")
    assert opened.inner_text("#count") == "0 of 60 episodes"


def test_keys(opened: Any) -> None:
    choose(opened, "arm", "sft")
    opened.evaluate("document.activeElement.blur()")
    order = ids(opened)
    assert current(opened) == order[0]
    for key, expected in (("j", 1), ("ArrowRight", 2), ("k", 1), ("ArrowLeft", 0), ("k", 0)):
        opened.keyboard.press(key)
        opened.wait_for_timeout(60)
        assert current(opened) == order[expected], key
        assert f"id={order[expected]}" in opened.url or expected == 0
    opened.keyboard.press("c")
    opened.wait_for_timeout(200)
    assert opened.locator(".columns .episode").count() == len(ARMS)
    titles = opened.locator(".columns h3").all_inner_texts()
    assert titles == list(ARMS.values())
    opened.keyboard.press("c")
    opened.wait_for_timeout(100)
    assert opened.locator(".columns").count() == 0
    opened.keyboard.press("/")
    assert opened.evaluate("document.activeElement.id") == "text"
    opened.keyboard.type("j")
    assert opened.input_value("#text") == "j"
    opened.keyboard.press("Escape")
    assert opened.evaluate("document.activeElement.id") != "text"


def test_everything_is_reached_without_a_mouse(opened: Any) -> None:
    reached = set()
    for _ in range(60):
        opened.keyboard.press("Tab")
        reached.add(opened.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"theme", "arm", "label", "human", "type", "from", "to", "text", "compare", "previous", "next"} <= reached
    assert {"A", "SUMMARY"} <= reached


def test_who_wrote_what(opened: Any) -> None:
    choose(opened, "arm", "grpo")
    choose(opened, "label", "misread")
    shown = opened.locator("#shown .text")
    sampled = shown.locator(".sampled:not(.control)").all_inner_texts()
    assert "".join(sampled).startswith("<search>number ")
    assert "</answer>" in "".join(sampled)
    assert "<results>" in "".join(shown.locator(".inserted").all_inner_texts())
    assert "<|im_end|>" in shown.locator(".control.sampled").all_inner_texts()
    assert "<|im_start|>" in shown.locator(".control:not(.sampled)").all_inner_texts()
    assert re.match(r"\[Gold \d+\] It stands there", shown.locator(".gold").first.inner_text())
    assert shown.locator(".gold").count() == 1
    assert re.match(r"probability .*, logprob -\d", shown.locator(".sampled").first.get_attribute("title"))
    shades = {name for each in shown.locator(".sampled").all() for name in each.get_attribute("class").split()}
    assert {"d0", "d5"} <= shades


def test_hostile_text_stays_text(chromium: Any, file: Path) -> None:
    for number, text in HOSTILE.items():
        page = open_page(chromium, file, f"#arm=closed_book&id=q{number}")
        shown = page.locator("#shown")
        assert page.title() == "What training added"
        assert page.locator("#shown script, #shown img, #shown svg, #shown textarea").count() == 0
        if number == 7:
            assert "show the other" in shown.inner_text()
            before = len(shown.inner_text())
            while shown.locator("button").count():
                shown.locator("button").first.click()
            assert len(shown.inner_text()) > before + 70_000
        elif number in (4, 5):
            odd = shown.locator(".text .odd").all_inner_texts()
            assert odd[:2] == (["0000", "0007"] if number == 4 else ["202E", "202C"])
            assert not re.search(r"[\u202e\u202c\u2066\x00\x1b]", shown.inner_text())
        else:
            assert text in shown.locator(".text").inner_text()
        assert page.said == []
        page.close()


def test_markup_that_slipped_in_would_do_nothing(chromium: Any, file: Path) -> None:
    page = open_page(chromium, file)
    page.evaluate(
        "() => { const node = document.createElement('div'); document.body.append(node);"
        ' node.innerHTML = \'<img src="https://example.org/x" onerror="document.title=1">\';'
        " const script = document.createElement('script'); script.textContent = 'document.title = 2';"
        " node.append(script); }"
    )
    page.wait_for_timeout(200)
    assert page.title() == "What training added"
    assert any("Content Security Policy" in line for line in page.said)
    page.close()


def test_a_link_opens_its_trace(chromium: Any, file: Path) -> None:
    page = open_page(chromium, file, "#arm=grpo_top1&id=q21&label=bad_query&compare=1")
    assert page.input_value("#arm") == "grpo_top1"
    assert page.input_value("#label") == "bad_query"
    assert page.is_checked("#compare")
    assert "Which town is number 21?" in page.inner_text("#shown")
    page.goto(f"{file.as_uri()}#arm=sft&id=q8")
    page.wait_for_timeout(300)
    assert page.input_value("#arm") == "sft"
    assert "Which town is number 8?" in page.inner_text("#shown")
    page.goto(f"{file.as_uri()}#arm=nonsense&id=%FF&label=x")
    page.wait_for_timeout(300)
    assert page.input_value("#arm") == "closed_book"
    assert page.said == []
    page.close()


def test_dark_light_and_print(chromium: Any, file: Path) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page = open_page(chromium, file, color_scheme=scheme)
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill") == page.evaluate(
            "getComputedStyle(document.body).color"
        )
        page.click("#theme")
        colours[f"not {scheme}"] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        if scheme == "light":
            page.emulate_media(media="print")
            assert not page.is_visible(".filters")
            assert page.is_visible("#shown .text")
            assert page.pdf()[:4] == b"%PDF"
        page.close()
    assert colours["light"] == colours["not dark"] != colours["dark"] == colours["not light"]


def test_six_hundred_episodes_an_arm_stay_small_and_fluid(chromium: Any, tmp_path: Path) -> None:
    chat, file = chat_of("smollm2"), tmp_path / "large.html"
    file.write_text(report_html(made_inputs(chat, EPISODES, words=250), {}, "", chat), encoding="utf-8")
    assert file.stat().st_size < LIMIT_MB * 1e6
    page = open_page(chromium, file, "#arm=grpo")
    assert len(ids(page)) == EPISODES
    started = time.monotonic()
    page.keyboard.press("j")
    page.get_by_text("2 of 600", exact=True).wait_for()
    page.fill("#text", "number 599")
    page.get_by_text("1 of 600 episodes", exact=True).wait_for()
    assert time.monotonic() - started < 30
    page.close()
