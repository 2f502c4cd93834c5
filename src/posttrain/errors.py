"""Every error a user can cause or meet; each message is one line and holds the command or setting that mends it."""


class PosttrainError(Exception):
    """Base of all errors that end a command with one line instead of a traceback."""


def system_failure(error: OSError) -> str:
    """One line about a file that cannot be used, for the end of a command."""
    if error.filename is None:
        return f"{error.strerror or error}; free some space or fix permissions and run again"
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} is missing; `dvc repro` makes the pipeline's files, git has the others"
    return f"cannot use {error.filename}: {error.strerror}; free some space or fix its permissions and run again"


class SettingsError(PosttrainError):
    """A setting is unknown, of the wrong type, out of range, or impossible beside another."""


class DataError(PosttrainError):
    """A data file is missing, malformed, or breaks a rule that the results rest on."""


class StoreError(PosttrainError):
    """The sample store or a saved state cannot be read or written."""


class BusyError(PosttrainError):
    """Another process holds the lock of this stage."""


class TemplateError(PosttrainError):
    """A model's chat template does not fit the way turns are stitched."""


class EngineError(PosttrainError):
    """The engine cannot do what was asked: wrong kind of checkpoint, no logprobs, unsupported model."""


class InfrastructureError(PosttrainError):
    """A request failed for reasons outside the policy, after the retries; never scored as zero."""


class BudgetError(PosttrainError):
    """The next request, or a stage's estimate, would pass `budget.usd`, or its price is unknown."""
