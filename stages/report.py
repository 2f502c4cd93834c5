"""The report: a page that works from disk, its summary as Markdown, and the learning curve as a picture."""

from pathlib import Path

from posttrain import station
from posttrain.files import write_text
from posttrain.ledger.price import PriceSettings
from posttrain.report.learning_curve import Curves, draw
from posttrain.settings import load
from posttrain.wiki.ablation import ARMS
from posttrain.wiki.chat import open_chat
from posttrain.wiki.report import report_html, report_markdown
from posttrain.wiki.report_inputs import METRICS, read_inputs
from posttrain.wiki.report_labels import labels_by_hand


def main() -> None:
    inputs = read_inputs(load("prices", PriceSettings))
    arms = [
        (title, inputs.ablation["arms"][arm]["f1"], inputs.ablation["arms"][arm]["f1_ci"])
        for arm, title in ARMS.items()
    ]
    reward = [row["reward"] for row in inputs.curves["grpo"]]
    curves = Curves(inputs.val, reward, arms, inputs.val_n, inputs.ablation["arms"]["base"]["n"])
    draw(curves, METRICS / "learning_curve.png")
    write_text(Path("report.md"), report_markdown(inputs))
    write_text(Path("report.html"), report_html(inputs, *labels_by_hand(ARMS), open_chat()))


if __name__ == "__main__":
    station.run("report", main)
