"""The words in which a person says why an episode failed."""

from posttrain.wiki.labels import FailureLabel

OTHER = "other"
_SHARED = (
    FailureLabel.BAD_QUERY,
    FailureLabel.MISREAD,
    FailureLabel.STOPPED_EARLY,
    FailureLabel.TOO_LONG,
    FailureLabel.NO_ACTION,
)
HUMAN = (*map(str, _SHARED), OTHER)
"""`length`, `budget` and `wrong` are facts for the machine to state, and count as `other` beside these."""


def comparable(automatic: str) -> str:
    """The automatic label in the words that a person may use."""
    return automatic if automatic in HUMAN else OTHER
