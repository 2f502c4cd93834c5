"""Keys and tokens of this machine, to be left out of all that is printed."""

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

TINKER_STORED = "~/.tinker/credentials.json"
_VARIABLES = ("TINKER_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_SHORTEST = 6
_FORMS = re.compile(r"\b(?:tml-|eyJ|hf_)[\w.~+/=-]+|(?<=://)[^/\s@]+(?=@)")
"""Tinker's keys, JSON web tokens, Hugging Face's tokens, and `user:password` in an address."""
_WORD = re.compile(r"[\w.~+/-]{8,}")


def stored_tinker_keys() -> list[str]:
    """The keys that `tinker auth login` has stored, the default one first; none if the file cannot be read."""
    try:
        document = json.loads(Path(TINKER_STORED).expanduser().read_text(encoding="utf-8"))
        default, keys = document.get("default"), document.get("keys", {})
        found = [record["key"] for _, record in sorted(keys.items(), key=lambda item: item[0] != default)]
        return [key for key in found if isinstance(key, str)]
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return []


def secrets_here() -> list[str]:
    """Every secret that the checks may come across: of the environment and of the files that hold logins."""
    found = [os.environ.get(name, "") for name in _VARIABLES] + stored_tinker_keys()
    folder = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    with contextlib.suppress(OSError, ValueError):
        found.append(Path(os.environ.get("HF_TOKEN_PATH", folder / "token")).read_text(encoding="utf-8"))
    # What is shorter is no secret, and hiding it would garble every line.
    return [secret.strip() for secret in found if len(secret.strip()) >= _SHORTEST]


def hidden(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, parts of them of eight characters or more, and all that looks like one."""
    secrets = tuple(secrets)
    for secret in secrets:
        text = text.replace(secret, "…")
    text = _FORMS.sub("…", text)
    return _WORD.sub(lambda word: "…" if any(word[0] in secret for secret in secrets) else word[0], text)
