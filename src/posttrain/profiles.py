"""Profiles: complete params files, one of which is put in place as params.yaml."""

from pathlib import Path
from typing import Any

from posttrain.errors import SettingsError
from posttrain.files import write_text
from posttrain.settings import closest, read_params


def names(root: Path) -> list[str]:
    """The profiles of a recipe, sorted."""
    return sorted(file.stem for file in (root / "profiles").glob("*.yaml"))


def use(name: str, root: Path) -> str:
    """Makes a profile the params.yaml of `root`; one that was edited by hand is kept as params.yaml.bak.

    Returns one line that says what was done.

    Raises:
        SettingsError: there is no such profile, or it is not a params file.
    """
    known = names(root)
    if name not in known:
        near = closest(name, known)
        hint = f"; did you mean {near}?" if near else f"; there are {', '.join(known) or 'none'}"
        raise SettingsError(f"no profile {name} in {root / 'profiles'}{hint}")
    source, target = root / "profiles" / f"{name}.yaml", root / "params.yaml"
    read_params(source)
    said = f"params.yaml is now profiles/{name}.yaml"
    if target.exists():
        current = target.read_text(encoding="utf-8")
        if all(current != (root / "profiles" / f"{one}.yaml").read_text(encoding="utf-8") for one in known):
            write_text(root / "params.yaml.bak", current)
            said += "; the edited one is kept as params.yaml.bak"
    write_text(target, source.read_text(encoding="utf-8"))
    return said


def check_same_keys(root: Path) -> None:
    """Every profile must hold the same sections and keys, so that no setting has a hidden default.

    Raises:
        SettingsError: a key that one profile has and another lacks.
    """
    holders: dict[str, list[str]] = {}
    known = names(root)
    for name in known:
        for key in _keys(read_params(root / "profiles" / f"{name}.yaml")):
            holders.setdefault(key, []).append(name)
    for key, having in sorted(holders.items()):
        for name in known:
            if name not in having:
                raise SettingsError(f"profiles/{name}.yaml: {key}: missing; profiles/{having[0]}.yaml has it")


def _keys(document: dict[str, Any]) -> list[str]:
    # Two levels: what lies below a setting is its value.
    found = [str(section) for section in document]
    for section, content in document.items():
        if isinstance(content, dict):
            found += [f"{section}.{key}" for key in content]
    return found
