"""One short question to the Hugging Face hub, and what may come of it in the user's terms."""

from collections.abc import Callable
from typing import Any, TypeVar

from posttrain.errors import DataError

T = TypeVar("T")
SECONDS = 8.0


def ask_hub(question: Callable[[Any], T], what: str, otherwise: str) -> T:
    """The answer to `question`, which is given the hub's client and must ask with a time-out of `SECONDS`.

    `what` names what is asked for, `otherwise` what can be done without it ("use …").

    Raises:
        DataError: the hub cannot be reached, refuses, or has no such thing.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, RevisionNotFoundError

    try:
        return question(HfApi())
    except OfflineModeIsEnabled as error:
        raise DataError(f"HF_HUB_OFFLINE is set, so {what} cannot be had; unset it, or {otherwise}") from error
    except HFValidationError as error:
        raise DataError(f"{what} is no name that the hub knows; {otherwise}") from error
    except RevisionNotFoundError as error:
        raise DataError(f"the hub has no {what}; name a commit that exists, or {otherwise}") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        told = "it is unknown, or not for you: see HF_TOKEN" if status in (401, 403, 404) else "try again later"
        raise DataError(f"the hub refuses {what} with status {status}; {told}, or {otherwise}") from error
    except Exception as error:  # whatever the client's HTTP library raises
        raise DataError(
            f"the hub cannot be reached ({type(error).__name__}); see the network and HF_ENDPOINT, or {otherwise}"
        ) from error
