"""Token in, token out: prompts and next turns as token ids, equal to what the model's chat template renders.

Fixed pieces are encoded once; only contents are encoded per call, by a tokenizer that knows no control tokens.
"""

from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer

from posttrain.chat.template import Pieces, conversation, pieces_of, refuse, render

PROBES = (
    ("Answer briefly.", "Who wrote Emma?", "Jane Austen", "When?", "1815", "Sure?"),
    ("", "12 + 30 = ?", "<search>42</search>", "[A] (b) 'c's.\n\nD\n", "x", "end  with   spaces"),
    (None, "«Où est l'été ?»\n1. 北京 2. 🙂", "ça va", '"quoted"', "…", "-1.5e3"),
    ("  padded \n\n system\n", "\n  padded\tuser \n", "a\nb", "  \n next\n\n", "c", "\u0301combining first"),
)


@dataclass(frozen=True)
class Slot:
    """Where a content goes: ids before it, text that shares tokens with it on either side, ids after it."""

    before: list[int]
    lead: str
    trail: str
    after: list[int]


@dataclass(frozen=True)
class ChatFormat:
    """How one model family writes a conversation, with thinking off. Made and checked by `ChatFormat.of`.

    Contents are stripped of surrounding white space, as templates do, and never become control tokens: an
    `<|im_start|>` or `<think>` in a question or a paragraph stays text.

    Attributes:
        end: id of the end-of-turn token.
        thinking: ids of the empty think block that the template drops from earlier turns and the episode keeps
            (what was sampled after it stays a continuation of it); empty for families without one.
    """

    end: int
    thinking: list[int]
    _tokenizer: Any = field(repr=False)
    _full: Tokenizer = field(repr=False)
    _plain: Tokenizer = field(repr=False)
    _default_user: Slot = field(repr=False)
    _empty_user: Slot = field(repr=False)
    _system: Slot = field(repr=False)
    _user: Slot = field(repr=False)
    _next: Slot = field(repr=False)
    _control: frozenset[int] = field(repr=False)
    _systems: dict[str, list[int]] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(tokenizer: Any) -> "ChatFormat":
        """Derives the format from a transformers tokenizer and proves it against the template.

        Raises:
            TemplateError: the template is missing or turns stitched here would differ from its rendering.
        """
        pieces = pieces_of(tokenizer)
        full = getattr(tokenizer, "backend_tokenizer", None)
        if full is None:
            raise refuse(tokenizer, "it has no fast tokenizer, which is needed to keep control tokens out of contents")
        chat = _assemble(tokenizer, full, pieces)
        _check_contents(chat)
        for probe in PROBES:
            _check_conversation(chat, *probe)
        return chat

    def prompt(self, system: str | None, user: str) -> list[int]:
        """Tokens of a conversation's start, up to where the model writes.

        An empty `system` is an empty system message; None leaves it to the template, which may put in its own.
        """
        if system is None:
            return self._fill(self._default_user, user)
        system = system.strip()
        if not system:
            return self._fill(self._empty_user, user)
        head = self._systems.get(system)
        if head is None:
            head = self._systems[system] = self._fill(self._system, system)
        return head + self._fill(self._user, user)

    def next_turn(self, content: str) -> list[int]:
        """Tokens between a reply's end-of-turn token and the model's next reply: a user turn with this content."""
        return self._fill(self._next, content)

    def decode_reply(self, tokens: list[int]) -> str:
        """Text of what was sampled, without the end-of-turn token that closes it."""
        return self.decode(tokens[:-1] if tokens and tokens[-1] == self.end else tokens)

    def decode(self, tokens: list[int]) -> str:
        """Text with control tokens written out, for traces."""
        return str(self._full.decode(tokens, skip_special_tokens=False))

    def is_control(self, token: int) -> bool:
        """Whether it is one of those that no content can be encoded to."""
        return token in self._control

    def encode_content(self, text: str) -> list[int]:
        """Token ids of plain text, none of them a control token."""
        try:
            return list(self._plain.encode(text, add_special_tokens=False).ids)
        except TypeError:  # half a surrogate pair, as broken JSON can carry
            return self.encode_content(text.encode("utf-8", "replace").decode())

    def _fill(self, slot: Slot, content: str) -> list[int]:
        # The neighbouring text is encoded together with the content, so a token may span the seam as in the template.
        return slot.before + self.encode_content(slot.lead + content.strip() + slot.trail) + slot.after


def _assemble(tokenizer: Any, full: Tokenizer, pieces: Pieces) -> ChatFormat:
    plain = Tokenizer(full.model)  # the same model without added tokens, so that no text can match one
    plain.normalizer, plain.pre_tokenizer, plain.decoder = full.normalizer, full.pre_tokenizer, full.decoder

    def split(text: str) -> tuple[str, list[int], str]:
        """Text before the first control token, ids from the first to the last, text after the last."""
        encoding = full.encode(text, add_special_tokens=False)
        added = full.get_added_tokens_decoder()
        control = [i for i, token in enumerate(encoding.ids) if token in added]
        if not control:
            raise refuse(tokenizer, f"its chat template parts messages by plain text ({text!r}), not by control tokens")
        first, last = control[0], control[-1]
        ids = list(encoding.ids[first : last + 1])
        return text[: encoding.offsets[first][0]], ids, text[encoding.offsets[last][1] :]

    def start(head: str) -> tuple[list[int], str]:
        if not head:
            return [], ""
        trail, ids, lead = split(head)
        return list(full.encode(trail, add_special_tokens=False).ids) + ids, lead

    trail, joint, joint_lead = split(pieces.joint)
    trail_header, header_ids, header_rest = split(pieces.header)
    header = header_ids + list(full.encode(header_rest, add_special_tokens=False).ids)
    turn_text, turn, turn_lead = split(pieces.turn)
    if turn_text:
        raise refuse(
            tokenizer, f"the end of a turn is not one token: its chat template closes a reply by {turn_text!r}"
        )
    return ChatFormat(
        end=turn[0],
        thinking=list(full.encode(pieces.thinking, add_special_tokens=False).ids),
        _tokenizer=tokenizer,
        _full=full,
        _plain=plain,
        _default_user=Slot(*start(pieces.default_head), trail_header, header),
        _empty_user=Slot(*start(pieces.empty_head), trail_header, header),
        _system=Slot(*start(pieces.head), trail, []),
        _user=Slot(joint, joint_lead, trail_header, header),
        _next=Slot(turn[1:], turn_lead, trail_header, header),
        _control=frozenset(full.get_added_tokens_decoder()),
    )


def _check_contents(chat: ChatFormat) -> None:
    """Proves that no control token's text is encoded as that token inside a content."""
    added = chat._full.get_added_tokens_decoder()
    for token in added.values():
        if not added.keys().isdisjoint(chat.encode_content(f"{token.content} a{token.content}b")):
            raise refuse(chat._tokenizer, f"the text {token.content} in a question would become a control token")


def _check_conversation(chat: ChatFormat, system: str | None, *turns: str) -> None:
    """Proves that stitched turns equal the template's rendering, but for empty think blocks of earlier turns."""
    turns = tuple(turn.strip() for turn in turns)
    stitched = chat.prompt(system, turns[0])
    for reply, user in zip(turns[1::2], turns[2::2], strict=True):
        stitched = stitched[: len(stitched) - len(chat.thinking)]  # as the template treats a turn that is now earlier
        stitched += [*chat.encode_content(reply), chat.end, *chat.next_turn(user)]
    rendered = render(chat._tokenizer, conversation(system and system.strip(), *turns), tokenize=True)
    if stitched != rendered:
        pairs = enumerate(zip(stitched, rendered, strict=False))
        at = next((i for i, (ours, theirs) in pairs if ours != theirs), min(len(stitched), len(rendered)))
        ours, theirs = chat.decode(stitched[at : at + 8]), chat.decode(rendered[at : at + 8])
        raise refuse(chat._tokenizer, f"turns stitched here differ from its chat template: {ours!r} for {theirs!r}")
