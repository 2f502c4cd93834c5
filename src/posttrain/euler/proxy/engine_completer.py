"""A checkpoint as an agent's model: its own chat template and tool-call syntax, replies from the sample store first."""

from posttrain.chat.tool_chat import ToolChat, Turn
from posttrain.chat.tool_syntax import parse_reply
from posttrain.errors import DataError
from posttrain.euler.proxy.completer import Seat
from posttrain.euler.proxy.wire import Call, Completion, Message, Request
from posttrain.rollout.policy import Drawing, Policy


class EngineCompleter:
    """Renders, draws and parses. seed, temperature, max_tokens and context_tokens: see `PolicySettings`."""

    def __init__(
        self, model: str, policy: Policy, chat: ToolChat, temperature: float, max_tokens: int, context_tokens: int,
        seed: int,
    ) -> None:  # fmt: skip
        self.model, self.revision = model, policy.lineage
        self._policy, self._chat = policy, chat
        self._temperature, self._max_tokens, self._seed = temperature, max_tokens, seed
        self._context_tokens = context_tokens

    async def complete(self, seat: Seat, request: Request) -> Completion:
        """The checkpoint's reply; an empty one, cut off, where the conversation leaves it no room."""
        turns = [_turn(message, seat) for message in request.messages]
        prompt = self._chat.prompt(turns, request.tools)
        room = min(self._max_tokens, request.max_tokens or self._max_tokens, self._context_tokens - len(prompt))
        if room < 1:
            return Completion("", (), "length", len(prompt), 0)
        how = Drawing(room, self._temperature, self._seed, stop=(self._chat.end,))
        with self._policy.caller():
            [sample] = await self._policy.draw(prompt, [seat.index], how)
        tokens = tuple(sample.tokens)
        reply = parse_reply(self._chat.decode_reply(tokens), self._chat.syntax, request.tools)
        kept = tokens[:-1] if tokens and tokens[-1] == self._chat.end else tokens
        calls = tuple(
            Call(f"call_{seat.turns}_{place}", call.name, call.arguments) for place, call in enumerate(reply.calls)
        )
        seat.replies.update({call.id: kept for call in calls})
        return Completion(
            reply.text, calls, "stop" if sample.stop_reason == "stop" else "length", len(prompt), len(tokens)
        )


def _turn(message: Message, seat: Seat) -> Turn:
    """A message as the template takes it; a reply of this rollout as the tokens that it was sampled in."""
    if message.role != "assistant" or not message.calls:
        return Turn(message.role, message.content)
    if message.calls[0] not in seat.replies:
        raise DataError(f"call {message.calls[0]!r} is none of this rollout's; its conversation cannot be gone on with")
    return Turn("assistant", message.content, seat.replies[message.calls[0]])
