"""The research task: a question, a search over paragraphs within a budget, and its closed-book floor."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posttrain.errors import SettingsError
from posttrain.rollout.environment import Continue, Done
from posttrain.rollout.episode import End
from posttrain.wiki.protocol import Answer, Search, parse

SearchCorpus = Callable[[str, int], Awaitable[Sequence[Mapping[str, Any]]]]
"""From a query and k to at most k paragraphs with `title` and `text`, best first."""

NO_RESULTS = "No results. Try other words."
LAST_SEARCH = "That was the last search. Give your answer now."


@dataclass(frozen=True)
class HarnessSettings:
    """The limits of an episode.

    Attributes:
        max_searches: searches allowed.
        top_k: paragraphs shown per search.
        max_tokens: new tokens per turn.
        passage_words: words of a paragraph that are shown; None shows all.
    """

    max_searches: int
    top_k: int
    max_tokens: int
    passage_words: int | None

    def check(self) -> None:
        """Refuses limits that leave no room to act.

        Raises:
            SettingsError: a limit is below 1.
        """
        for name, value in vars(self).items():
            if value is not None and value < 1:
                raise SettingsError(f"{name}: must be at least 1, is {value}")


class ResearchEnvironment:
    """One question with a corpus to search; notes `queries`, titles `retrieved` per search, and `extra_actions`."""

    def __init__(self, question: str, search: SearchCorpus, prompt: str, settings: HarnessSettings) -> None:
        self._question, self._search, self._prompt, self._settings = question, search, prompt, settings
        self._queries: list[str] = []
        self._retrieved: list[list[str]] = []
        self._extra_actions = 0

    def messages(self) -> tuple[str | None, str]:
        """The system prompt and the question."""
        return self._prompt, self._question

    async def step(self, reply: str) -> Continue | Done:
        """Runs the reply's search, or ends with its answer, without an action, or over budget."""
        parsed = parse(reply)
        self._extra_actions += parsed.extra
        match parsed.action:
            case None:
                return Done(End.NO_ACTION)
            case Answer(text):
                return Done(End.ANSWER, text)
            case Search() if len(self._queries) == self._settings.max_searches:
                return Done(End.BUDGET)
            case Search(query):
                return Continue(await self._results(query))

    async def _results(self, query: str) -> str:
        """Text of the user turn that answers a search, and the note of it."""
        found = await self._search(query, self._settings.top_k) if query else []
        self._queries.append(query)
        self._retrieved.append([str(passage["title"]) for passage in found])
        text = show_results(found, self._settings.passage_words)
        return f"{text}\n{LAST_SEARCH}" if len(self._queries) == self._settings.max_searches else text

    def info(self) -> dict[str, Any]:
        """Queries in order, the titles each one brought, and complete actions that were passed over."""
        return {"queries": self._queries, "retrieved": self._retrieved, "extra_actions": self._extra_actions}


class ClosedBookEnvironment:
    """One question to answer from memory; any other action counts as none."""

    def __init__(self, question: str, prompt: str) -> None:
        self._question, self._prompt = question, prompt
        self._extra_actions = 0

    def messages(self) -> tuple[str | None, str]:
        """The system prompt and the question."""
        return self._prompt, self._question

    async def step(self, reply: str) -> Continue | Done:
        """Ends with the reply's answer, or without an action."""
        parsed = parse(reply)
        self._extra_actions += parsed.extra
        return Done(End.ANSWER, parsed.action.text) if isinstance(parsed.action, Answer) else Done(End.NO_ACTION)

    def info(self) -> dict[str, Any]:
        """The same keys as with a corpus, so that one reader serves both."""
        return {"queries": [], "retrieved": [], "extra_actions": self._extra_actions}


def show_results(found: Sequence[Mapping[str, Any]], passage_words: int | None) -> str:
    """Paragraphs as `[Title] text` lines inside a results tag, each cut to `passage_words` words."""
    if not found:
        return f"<results>\n{NO_RESULTS}\n</results>"
    blocks = [f"[{passage['title']}] {_cut(str(passage['text']), passage_words)}" for passage in found]
    return "\n".join(["<results>", *blocks, "</results>"])


def _cut(text: str, words: int | None) -> str:
    if words is None or len(parts := text.split(maxsplit=words)) <= words:
        return text
    return " ".join(parts[:words]) + " …"
