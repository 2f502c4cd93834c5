"""An episode token by token: what the policy sampled, and is trained on, and what the harness put in."""

from posttrain.chat.format import ChatFormat
from posttrain.errors import DataError
from posttrain.rollout.episode import Episode
from posttrain.rollout.pieces import Piece, prompt_of, token_pieces

LONGEST = 80
"""Characters of one token's text that are shown."""


def mask_lines(episode: Episode, chat: ChatFormat, with_prompt: bool) -> list[str]:
    """A header, a line per token, and the counts. Positions count from the prompt's first token, as in training."""
    before = len(episode.prompt)
    rows = _rows(token_pieces(episode, chat), before, {True: "sampled", False: "inserted"})
    if with_prompt:
        rows = [*_rows(token_pieces(prompt_of(episode), chat), 0, {False: "prompt"}), *rows]
    table = [("position", "written", "kind", "logprob", "token", "text"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(5)]
    left = (1, 2)
    lines = [
        "  ".join(
            [*(row[i].ljust(widths[i]) if i in left else row[i].rjust(widths[i]) for i in range(5)), row[5]]
        ).rstrip()
        for row in table
    ]
    return [*lines, _counted(episode, chat)]


def check_counts(episode: Episode) -> None:
    """Compares the flags with what the episode says was generated.

    Raises:
        DataError: they differ, so the mask of this episode cannot be trusted.
    """
    flagged = sum(episode.sampled)
    if flagged != episode.generated:
        raise DataError(
            f"{episode.id} says that {episode.generated} tokens were generated, and {flagged} are flagged as sampled; "
            "`dvc repro` makes the run again"
        )


def _rows(pieces: list[Piece], start: int, hands: dict[bool, str]) -> list[tuple[str, str, str, str, str, str]]:
    rows = []
    for piece in pieces:
        for i, (token, logprob) in enumerate(zip(piece.tokens, piece.logprobs, strict=True), 1):
            # A letter of several tokens is complete at its last one.
            text = _quoted(piece.text) if i == len(piece.tokens) else "…"
            kind, shown = "control" if piece.control else "", f"{logprob:.4f}" if piece.sampled else "-"
            rows.append((str(start), hands[piece.sampled], kind, shown, str(token), text))
            start += 1
    return rows


def _quoted(text: str) -> str:
    # `repr` writes out all that cannot be printed, as `harmless` would replace it.
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r} …"


def _counted(episode: Episode, chat: ChatFormat) -> str:
    parts = []
    for flag, name in ((1, "sampled"), (0, "inserted")):
        tokens = [token for token, sampled in zip(episode.tokens, episode.sampled, strict=True) if sampled == flag]
        parts.append(f"{len(tokens)} {name} ({sum(map(chat.is_control, tokens))} of them control)")
    return f"{', '.join(parts)}; the episode counts {episode.generated} generated"
