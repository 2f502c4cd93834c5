"""The recipe's report: one page to read traces and judge by, and the same summary as Markdown."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from posttrain.chat.format import ChatFormat
from posttrain.report.charts import Chart, figure_html
from posttrain.report.page import Section, asset, page
from posttrain.wiki.ablation import ARMS, markdown_table
from posttrain.wiki.limits import ONE_SEED, WORLDS
from posttrain.wiki.report_charts import LOSSES, failure_charts, summary_charts, training_charts
from posttrain.wiki.report_inputs import Inputs
from posttrain.wiki.report_story import sentences
from posttrain.wiki.report_traces import packed_traces

TITLE = "What training added"


def report_markdown(inputs: Inputs) -> str:
    """Table, a sentence for each stage, and what the numbers rest on."""
    told = "\n".join(f"- {line}" for line in sentences(inputs.ablation, inputs.prices))
    facts = "\n".join(f"- {name}: {text}" for name, text in _facts(inputs))
    return f"# {TITLE}\n\n{markdown_table(inputs.ablation)}\n{told}\n\n{facts}\n"


def report_html(inputs: Inputs, human: Mapping[tuple[str, str], str], agreement: str, chat: ChatFormat) -> str:
    """The page.

    Args:
        inputs: of `read_inputs`.
        human: labels that a person gave, by arm and question id.
        agreement: how they agree with the automatic ones, as lines of text; "" if there are none.
        chat: of the model whose traces they are.
    """
    losses = {name: inputs.curves[name] for name in LOSSES if any("loss" in row for row in inputs.curves[name])}
    curves = training_charts(inputs.val, losses, inputs.curves["grpo"])
    failures = failure_charts(inputs.measured, inputs.index)
    note = f"<h3>Labels by a person</h3><pre>{escape(agreement)}</pre>" if agreement else ""
    sections = [
        Section("summary", "Summary", _summary(inputs) + _grid(summary_charts(inputs.ablation))),
        Section("curves", "Training", _alarms(curves) + _grid(curves)),
        Section("failures", "Retrieval and failures", _grid(failures) + note),
        Section("traces", "Traces", asset("reader.html")),
    ]
    return page(TITLE, sections, packed_traces(inputs.traces, human, chat))


def _facts(inputs: Inputs) -> list[tuple[str, str]]:
    ablation, prep = inputs.ablation, inputs.prep
    training = sum(price.usd for price in inputs.prices.values())
    testing = sum(arm["n"] * arm["usd_per_question"] for arm in ablation["arms"].values())
    limitation = " ".join(filter(None, (WORLDS.get(prep["source"]), ONE_SEED)))
    return [
        (
            "Questions",
            f"{ablation['arms']['base']['n']:,} of the test split, the same for every arm; source {prep['source']}",
        ),
        (
            "Test split",
            f"SHA-256 {ablation['test_sha256']}; opened {ablation['test_opened']} times on the machine that made this",
        ),
        ("Cost", f"{training:.2f} USD to train and choose, {testing:.2f} USD for the six arms"),
        ("Limitation", limitation),
    ]


def _summary(inputs: Inputs) -> str:
    told = "".join(f"<li>{escape(line)}</li>" for line in sentences(inputs.ablation, inputs.prices))
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _facts(inputs))
    return f'<div class="wide">{_table(inputs.ablation)}</div><ul>{told}</ul><dl class="facts">{facts}</dl>'


def _table(ablation: Mapping[str, Any]) -> str:
    """The Markdown table as HTML."""
    lines = [line.strip("|").split("|") for line in markdown_table(ablation).splitlines()]
    header, rows = lines[0], lines[2:]
    assert len(rows) == len(ARMS)
    head = "".join(f'<th scope="col">{escape(cell.strip())}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell.strip())}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _alarms(charts: Sequence[Chart]) -> str:
    fired = sum(len(chart.notes) for chart in charts)
    if not fired:
        return "<p>No alarm fired.</p>"
    return f"<p>{fired} alarm{'s' if fired > 1 else ''} fired; each is a dashed line on its chart, with what to do.</p>"


def _grid(charts: Sequence[Chart]) -> str:
    return f'<div class="charts">{"".join(figure_html(chart) for chart in charts)}</div>'
