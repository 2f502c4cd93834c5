import asyncio
from dataclasses import replace
from typing import Any

import pytest

from posttrain.errors import EngineError
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import End, Episode
from posttrain.rollout.loop import Sample, Sampled, run_episode
from tests.families import TOKENIZERS, chat_of
from tests.policy import ScriptedPolicy

FAMILIES = list(TOKENIZERS)


class Countdown:
    """Says each text once, then ends with the last reply as the answer."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.replies = list(texts), list[str]()

    def messages(self) -> tuple[str | None, str]:
        return "Be brief.", "Go"

    async def step(self, reply: str) -> Continue | Done:
        self.replies.append(reply)
        return Continue(self.texts.pop(0)) if self.texts else Done(End.ANSWER, reply)

    def info(self) -> dict[str, Any]:
        return {"replies": len(self.replies)}


def play(sample: Sample, environment: Countdown, family: str = "smollm2", **limits: int) -> Episode:
    return asyncio.run(run_episode(sample, environment, chat_of(family), id="q1", attempt=2, **limits))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("with_end", [True, False])
def test_masks_and_logprobs_line_up_with_what_was_sampled(family: str, with_end: bool) -> None:
    chat = chat_of(family)
    policy = ScriptedPolicy(chat, ["one", "two 2", "three"], with_end=with_end)
    episode = play(policy, Countdown("first", "second"), family)
    expected, flags = list[int](), list[int]()
    for i, text in enumerate(["first", "second", None]):
        inserted = ([] if with_end else [chat.end]) + (chat.next_turn(text) if text else [])
        expected += policy.given[i] + inserted
        flags += [1] * len(policy.given[i]) + [0] * len(inserted)
    assert (episode.tokens, episode.sampled) == (expected, flags)
    assert len(episode.logprobs) == len(episode.tokens)
    assert all((logprob < 0) == bool(flag) for logprob, flag in zip(episode.logprobs, flags, strict=True))
    assert episode.generated == sum(map(len, policy.given))
    assert (episode.id, episode.attempt, episode.turns) == ("q1", 2, 3)
    assert (episode.end, episode.answer, episode.info) == (End.ANSWER, "three", {"replies": 3})


@pytest.mark.parametrize("family", FAMILIES)
def test_every_prompt_extends_the_one_before(family: str) -> None:
    policy = ScriptedPolicy(chat_of(family), ["one", "two", "three"])
    episode = play(policy, Countdown("first", "second"), family)
    whole = episode.prompt + episode.tokens
    assert all(whole[: len(prompt)] == prompt for prompt in policy.prompts)
    assert episode.prefill == sum(map(len, policy.prompts))
    assert episode.cached == sum(map(len, policy.prompts[:-1]))


def test_the_end_token_the_sampler_left_out_changes_nothing_but_its_flag() -> None:
    chat = chat_of("smollm2")
    with_end = play(ScriptedPolicy(chat, ["one", "two"]), Countdown("first"))
    without = play(ScriptedPolicy(chat, ["one", "two"], with_end=False), Countdown("first"))
    assert with_end.prompt + with_end.tokens == without.prompt + without.tokens
    assert with_end.generated == without.generated + 2


def test_unusual_tokenization_is_kept_as_sampled() -> None:
    chat = chat_of("smollm2")
    letters = [i for letter in "hello" for i in chat.encode_content(letter)]
    assert letters != chat.encode_content("hello")
    environment = Countdown()
    episode = play(ScriptedPolicy(chat, [letters]), environment)
    assert episode.tokens == [*letters, chat.end]
    assert environment.replies == ["hello"]


def test_a_cut_reply_ends_the_episode_unread() -> None:
    environment = Countdown("first")
    policy = ScriptedPolicy(chat_of("smollm2"), ["one", "two and more"], cut=1)
    episode = play(policy, environment)
    assert (episode.end, episode.answer, episode.turns) == (End.LENGTH, "", 2)
    assert environment.replies == ["one"]
    assert episode.tokens[-len(policy.given[1]) :] == policy.given[1]
    assert episode.sampled[-1] == 1


def test_a_prompt_that_would_not_fit_ends_the_episode() -> None:
    chat = chat_of("smollm2")
    room = len(chat.prompt("Be brief.", "Go"))
    episode = play(ScriptedPolicy(chat, ["one"]), Countdown("first"), max_prompt_tokens=room)
    assert (episode.end, episode.turns) == (End.LENGTH, 1)
    episode = play(ScriptedPolicy(chat, []), Countdown("first"), max_prompt_tokens=room - 1)
    assert (episode.end, episode.turns, episode.tokens) == (End.LENGTH, 0, [])


def test_an_empty_reply_is_a_reply() -> None:
    environment = Countdown()
    episode = play(ScriptedPolicy(chat_of("smollm2"), [[]], with_end=False), environment)
    assert environment.replies == [""]
    assert (episode.tokens, episode.sampled, episode.generated) == ([chat_of("smollm2").end], [0], 0)


@pytest.mark.parametrize(
    ("logprobs", "why"),
    [(None, "no logprobs"), ([-0.1], "1 logprobs for 2 tokens"), ([-0.1, float("nan")], "not finite")],
)
def test_a_sampler_without_sound_logprobs_stops_the_run(logprobs: list[float] | None, why: str) -> None:
    async def sample(prompt: list[int]) -> Sampled:
        return Sampled([prompt[0], 2], logprobs, "stop")

    with pytest.raises(EngineError, match=why):
        play(sample, Countdown())


def test_a_row_brings_back_the_same_episode_bit_for_bit() -> None:
    import json

    episode = play(ScriptedPolicy(chat_of("smollm2"), ["one", "two"]), Countdown("first"))
    episode = replace(episode, logprobs=[lp / 3 for lp in episode.logprobs])
    row = json.loads(json.dumps(episode.to_row()))
    assert row["end"] == "answer"
    assert Episode.from_row(row) == episode
    assert Episode.from_row(row).logprobs == episode.logprobs


def test_spans_tell_sampled_and_inserted_text_apart() -> None:
    chat = chat_of("smollm2")
    episode = play(ScriptedPolicy(chat, ["one", "two"]), Countdown("first"))
    assert episode.spans(chat) == [
        (True, "one<|im_end|>"),
        (False, "\n<|im_start|>user\nfirst<|im_end|>\n<|im_start|>assistant\n"),
        (True, "two<|im_end|>"),
    ]
    assert episode.trace(chat) == chat.decode(episode.prompt) + "".join(text for _, text in episode.spans(chat))
