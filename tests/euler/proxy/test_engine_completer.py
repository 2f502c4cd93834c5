"""A checkpoint as an agent's model: what it is asked, and how its replies come back in the next prompt."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posttrain.errors import DataError
from posttrain.euler.planned import CANONICAL, Planned
from posttrain.euler.proxy.completer import Seat, sample_index
from posttrain.euler.proxy.engine_completer import EngineCompleter
from posttrain.euler.proxy.wire import Completion, Message, Request
from posttrain.ledger.store import SampleStore
from tests.euler.proxy.tiny_policy import PAIR_TOKEN, Telling, byte_chat, called, policy_of, spelled

TOOLS = ({"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}},)
ASKED = (Message("system", "Be brief.", ()), Message("user", "40 + 2?", ()))
PLANNED = Planned(1, "python", CANONICAL, "current", 0)
SEED, LARGEST_INDEX = 2**30 - 1, 2**30 - 1


def completer(folder: Path, sampler: Telling, *, context: int = 4096, most: int = 200) -> EngineCompleter:
    store = SampleStore(folder / "samples.sqlite")
    return EngineCompleter("tiny", policy_of(store, sampler), byte_chat(), 0.7, most, context, SEED)


def complete(one: EngineCompleter, seat: Seat, *messages: Message, most: int | None = None) -> Completion:
    reply = asyncio.run(one.complete(seat, Request(messages or ASKED, TOOLS, most)))
    seat.turns += 1
    return reply


def test_sampled_tokens_are_the_next_prompt_word_for_word(tmp_path: Path) -> None:
    chat = byte_chat()
    first = spelled("42? " + called("bash", command="echo 42"), chat)
    sampler = Telling(first, spelled("It is 42.", chat))
    one, seat = completer(tmp_path, sampler), Seat(PLANNED, 3)
    reply = complete(one, seat)
    assert (reply.text, reply.stop, reply.tokens_out) == ("42?", "stop", len(first))
    [call] = reply.calls
    assert (call.id, call.name, call.arguments) == ("call_0_0", "bash", {"command": "echo 42"})
    # Pi sends text and calls back in its own words; neither is looked at.
    answer = Message("assistant", "in other words", (call.id,)), Message("tool", "42\n", ())
    again = complete(one, seat, *ASKED, *answer)
    assert sampler.prompts[1][: len(sampler.prompts[0]) + len(first)] == sampler.prompts[0] + first
    assert PAIR_TOKEN in sampler.prompts[1]  # the tool's 42, which nobody sampled
    assert again.tokens_in == len(sampler.prompts[1])
    assert (again.text, again.calls) == ("It is 42.", ())


def test_a_call_of_another_rollout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'call_0_0' is none of this rollout's"):
        complete(completer(tmp_path, Telling()), Seat(PLANNED, 0), *ASKED, Message("assistant", "", ("call_0_0",)))


def test_where_no_room_is_left_the_reply_is_empty_and_nothing_is_sampled(tmp_path: Path) -> None:
    sampler = Telling()
    reply = complete(completer(tmp_path, sampler, context=50), Seat(PLANNED, 0))
    assert (reply.text, reply.calls, reply.stop, reply.tokens_out) == ("", (), "length", 0)
    assert reply.tokens_in > 50
    assert sampler.prompts == []


@pytest.mark.parametrize(("most", "wanted"), [(None, 200), (7, 7), (9999, 200)])
def test_it_asks_for_the_least_of_all_limits(tmp_path: Path, most: int | None, wanted: int) -> None:
    sampler = Telling(spelled("Yes.", byte_chat()))
    complete(completer(tmp_path, sampler), Seat(PLANNED, 0), most=most)
    assert sampler.how[0].max_tokens == wanted


def test_a_prompt_and_its_reply_fit_the_context(tmp_path: Path) -> None:
    chat = byte_chat()
    before = Telling(spelled("Yes.", chat))
    asked = complete(completer(tmp_path, before), Seat(PLANNED, 0)).tokens_in
    sampler = Telling(spelled("Yes.", chat))
    complete(completer(tmp_path / "b", sampler, context=asked + 5), Seat(PLANNED, 0))
    assert sampler.how[0].max_tokens == 5


def test_the_seed_of_any_rollout_fits_31_bits(tmp_path: Path) -> None:
    sampler = Telling(spelled("Yes.", byte_chat()))
    complete(completer(tmp_path, sampler), Seat(PLANNED, LARGEST_INDEX))
    assert sampler.how[0].seed == SEED + LARGEST_INDEX < 2**31
    assert (sampler.how[0].temperature, sampler.how[0].stop) == (0.7, [byte_chat().end])


def test_a_reply_that_was_cut_off_says_so_and_its_half_call_is_text(tmp_path: Path) -> None:
    half = spelled(called("bash", command="echo 42")[:-30], byte_chat(), end=False)
    reply = complete(completer(tmp_path, Telling(half, stop="length")), Seat(PLANNED, 0))
    assert (reply.stop, reply.calls) == ("length", ())
    assert "<tool_call>" in reply.text


def test_the_same_rollout_is_answered_from_the_store(tmp_path: Path) -> None:
    first = spelled(called("bash", command="x"), byte_chat())
    one = complete(completer(tmp_path, Telling(first)), Seat(PLANNED, 3))
    again = Telling()
    assert complete(completer(tmp_path, again), Seat(PLANNED, 3)) == one
    assert again.prompts == []


@given(
    st.text(), st.builds(Planned, st.integers(1, 999), st.just("python"), st.text(), st.just("current"), st.integers(0))
)
def test_an_index_is_the_rollouts_own_and_leaves_room_for_a_seed(nonce: str, planned: Planned) -> None:
    index = sample_index(nonce, planned)
    assert 0 <= index <= LARGEST_INDEX
    assert index == sample_index(nonce, planned)
    assert index != sample_index(nonce + "x", planned)
