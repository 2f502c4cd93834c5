from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.rollout.episode import End, Episode
from posttrain.rollout.pieces import BROKEN, prompt_of, text_pieces, token_pieces
from tests.families import TOKENIZERS, chat_of


def episode_of(chat: Any, turns: list[tuple[bool, list[int]]]) -> Episode:
    tokens = [token for _, run in turns for token in run]
    sampled = [int(flag) for flag, run in turns for _ in run]
    logprobs = [-0.5 - i if flag else 0.0 for i, flag in enumerate(sampled)]
    prompt = chat.prompt("Be brief.", "Go ✓")
    return Episode("q", 0, prompt, tokens, sampled, logprobs, End.ANSWER, "", 1, 0, 0, sum(sampled))


@pytest.mark.parametrize("family", list(TOKENIZERS))
@pytest.mark.parametrize("text", ["plain words", "naïve 北京 🙂🙂 👩‍👩‍👧", "a\u202eb\x00c", "  \n\n x"])
def test_pieces_hold_every_token_once_and_make_the_text(family: str, text: str) -> None:
    chat = chat_of(family)
    reply, inserted = [*chat.encode_content(text), chat.end], chat.next_turn(f"[{text}] {text}")
    episode = episode_of(chat, [(True, reply), (False, inserted), (True, reply)])
    for pieces in (token_pieces(episode, chat), text_pieces(episode, chat)):
        assert [token for piece in pieces for token in piece.tokens] == episode.tokens
        assert [logprob for piece in pieces for logprob in piece.logprobs] == episode.logprobs
        assert [piece.sampled for piece in pieces for _ in piece.tokens] == [bool(flag) for flag in episode.sampled]
        assert "".join(piece.text for piece in pieces) == chat.decode(episode.tokens)
        assert all(piece.control == chat.is_control(token) for piece in pieces for token in piece.tokens)
    assert BROKEN not in "".join(piece.text for piece in token_pieces(episode, chat))
    written = [piece for piece in text_pieces(episode, chat) if not piece.sampled and not piece.control]
    assert len(written) < len([piece for piece in token_pieces(episode, chat) if not piece.sampled])
    assert [piece.text for piece in token_pieces(episode, chat) if piece.sampled and piece.control] == [
        chat.decode([chat.end])
    ] * 2


@given(tokens=st.lists(st.integers(0, 49_151), min_size=1, max_size=30), flags=st.randoms(use_true_random=False))
def test_any_tokens_are_held_once(tokens: list[int], flags: Any) -> None:
    chat = chat_of("smollm2")
    episode = episode_of(chat, [(flags.random() < 0.5, [token]) for token in tokens])
    pieces = token_pieces(episode, chat)
    assert [token for piece in pieces for token in piece.tokens] == tokens
    assert all(1 <= len(piece.tokens) <= 4 for piece in pieces)


def test_the_prompt_is_the_harness_s() -> None:
    chat = chat_of("smollm2")
    pieces = token_pieces(prompt_of(episode_of(chat, [(True, [chat.end])])), chat)
    assert "".join(piece.text for piece in pieces) == chat.decode(chat.prompt("Be brief.", "Go ✓"))
    assert not any(piece.sampled for piece in pieces)
