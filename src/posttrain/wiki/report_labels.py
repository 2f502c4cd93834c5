"""What people said of the test episodes, for the report."""

from collections.abc import Iterable

from posttrain.wiki.agreement_text import agreement_lines
from posttrain.wiki.cases import read_run
from posttrain.wiki.human_labels import agreement, current_labels, read_labels


def labels_by_hand(arms: Iterable[str]) -> tuple[dict[tuple[str, str], str], str]:
    """Labels by arm and question id, with their notes, and a table of their agreement; "" without any.

    Raises:
        DataError: a line of a label file is torn or malformed.
    """
    found: dict[tuple[str, str], str] = {}
    tables = []
    for arm in arms:
        name = f"test/{arm}"
        labels = read_labels(name)
        if not labels:
            continue
        run = read_run(name)
        for (question, _), label in current_labels(run, labels).items():
            found[arm, question] = label.human
        tables.append("\n".join(agreement_lines(name, agreement(run, labels))))
    return found, "\n\n".join(tables)
