"""Human beside automatic labels as a table of text."""

from posttrain.wiki.human_labels import Agreement
from posttrain.wiki.human_words import HUMAN, OTHER, comparable


def agreement_lines(name: str, found: Agreement) -> list[str]:
    """A row for each human label, a column for each automatic one, then the shares."""
    left = [
        f"{found.outdated} left out: the episode has changed since" if found.outdated else "",
        f"{found.solved} left out: no longer failed" if found.solved else "",
    ]
    aside = "".join(f"; {part}" for part in left if part)
    lines = [f"{name}: {found.n} labelled by hand{aside}"]
    if not found.n:
        return lines
    people = [label for label in HUMAN if any(human == label for human, _ in found.counts)]
    scorer = sorted({automatic for _, automatic in found.counts})
    cells = [["human \\ automatic", *scorer]]
    cells += [[human, *(str(found.counts[human, automatic]) for automatic in scorer)] for human in people]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        lines.append("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]))
    kappa = "undefined: all labels are the same one" if found.kappa is None else f"{found.kappa:.3f}"
    lines.append(f"agreement {found.agreed / found.n:.3f} ({found.agreed} of {found.n}); Cohen's kappa {kappa}")
    if folded := [automatic for automatic in scorer if comparable(automatic) != automatic]:
        lines.append(f"{', '.join(folded)}: people have no such label, so {OTHER} agrees with it")
    return lines
