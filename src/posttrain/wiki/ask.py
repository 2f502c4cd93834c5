"""One question for the research agent, played as `evaluate` plays it and told while it is played."""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posttrain.engine.settings import EngineSettings
from posttrain.ledger.price import Tokens
from posttrain.progress import Progress
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import Episode
from posttrain.rollout.policy import Drawing
from posttrain.rollout.runner import Rollouts, Runner, Task
from posttrain.settings import load
from posttrain.wiki.environment import HarnessSettings, ResearchEnvironment, SearchCorpus
from posttrain.wiki.policies import check_base, open_policy
from posttrain.wiki.searching import open_search
from posttrain.wiki.session import Session, open_session, prompt_text
from posttrain.wiki.settings import EvaluateSettings

Found = Sequence[Mapping[str, Any]]
Tell = Callable[[str, Found], None]
"""Is called with each query and the paragraphs that it found, before the policy reads them."""


@dataclass(frozen=True)
class Asked:
    """A question's episode, the policy's last words, and what was drawn for it now: tokens, USD, wall seconds.

    What the sample store held already was not drawn again, so `drawn` can be nothing.
    """

    episode: Episode
    said: str
    drawn: Tokens
    usd: float
    seconds: float


class Told:
    """A research environment that tells of each search."""

    def __init__(self, question: str, search: SearchCorpus, prompt: str, harness: HarnessSettings, tell: Tell) -> None:
        self._search, self._tell, self._found = search, tell, list[Mapping[str, Any]]()
        self._inner = ResearchEnvironment(question, self._remembered, prompt, harness)

    def messages(self) -> tuple[str | None, str]:
        """See `Environment.messages`."""
        return self._inner.messages()

    async def step(self, reply: str) -> Continue | Done:
        """See `Environment.step`; an episode goes on only after a search."""
        self._found = []
        outcome = await self._inner.step(reply)
        if isinstance(outcome, Continue):
            self._tell(self._inner.info()["queries"][-1], self._found)
        return outcome

    def info(self) -> dict[str, Any]:
        """See `Environment.info`."""
        return self._inner.info()

    async def _remembered(self, query: str, k: int) -> Found:
        self._found = list(await self._search(query, k))
        return self._found


async def ask(question: str, folder: Path, tell: Tell) -> Asked:
    """Asks the policy of a checkpoint folder with the engine, harness, prompt and index of the project.

    The question is sampled under the same name as one of `evaluate`, so whichever comes second is a replay.

    Raises:
        DataError, SettingsError: the folder, the index or params.yaml is missing or unfit.
        EngineError, InfrastructureError: the model cannot be had, or a request failed.
        BudgetError: the cap is reached.
    """
    engine = load("engine", EngineSettings)
    harness, settings = load("harness", HarnessSettings), load("evaluate", EvaluateSettings)
    checkpoint, prompt = open_policy(folder, engine), prompt_text("research")
    with open_search() as search, open_session(engine) as session:
        check_base(folder, checkpoint, session.engine)
        task = Task("ask", lambda: Told(question, search, prompt, harness, tell))
        policy = checkpoint.policy(session.engine, session.store)
        drawing = Drawing(harness.max_tokens, settings.temperature, 0, (session.chat.end,))
        # The searches themselves show that it goes on.
        with Progress("ask", 1, "question", stream=io.StringIO()) as silent:
            runner = Runner(policy, session.chat, Rollouts(1, 1, drawing), silent)
            started = time.monotonic()
            [[episode]] = await runner.run([task])
        return _asked(session, episode, time.monotonic() - started)


def _asked(session: Session, episode: Episode, seconds: float) -> Asked:
    replies = [text for sampled, text in episode.spans(session.chat) if sampled]
    said = replies[-1].removesuffix(session.chat.decode([session.chat.end])) if replies else ""
    drawn = session.purse.drawn
    return Asked(episode, said, drawn, session.purse.prices.usd(drawn), seconds)
