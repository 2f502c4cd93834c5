"""Settings: one section of params.yaml read into a frozen dataclass, every mistake named before any work is done."""

import difflib
import math
import os
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from posttrain.errors import SettingsError
from posttrain.pipeline import LOADER, read_stage

T = TypeVar("T")


def load(
    section: str, cls: type[T], path: Path = Path("params.yaml"), partial: bool = False, changes_results: bool = True
) -> T:
    """Reads a section into `cls`, whose fields carry types and no defaults, then calls its `check()` if it has one.

    `check()` raises `SettingsError("field: what is wrong")`; file and section are put in front. `partial` lets the
    file hold keys that `cls` lacks. Inside a DVC stage, keys that it does not declare are refused, unless they change
    no result (a spending cap, a time-out): DVC need not rerun anything for those.

    Raises:
        SettingsError: an unknown, missing, mistyped, impossible or undeclared setting, by name.
        TypeError: `cls` breaks the rules above.
    """
    document = read_params(path)
    if section not in document:
        raise SettingsError(f"{path}: there is no section {section}{_hint(section, document)}")
    given = document[section]
    if not isinstance(given, dict):
        raise SettingsError(f"{path}: {section}: must be a section with keys, is {given!r}")
    wanted = [field.name for field in _fields_without_defaults(cls)]
    _check_keys(f"{path}: {section}", given, wanted, partial)
    stage = os.environ.get("DVC_STAGE")
    if stage and changes_results:
        _check_declared(stage, section, wanted, path)
    hints = get_type_hints(cls)
    values = {name: _coerce(given[name], hints[name], f"{path}: {section}.{name}") for name in wanted}
    settings = cls(**values)
    _run_check(settings, path, section, wanted)
    return settings


def read_params(path: Path) -> dict[str, Any]:
    """The sections of a params file as YAML reads them.

    Raises:
        SettingsError: missing, not YAML, or not a mapping.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: the file is missing; `posttrain use mini` puts one in place") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: must hold sections with keys; `posttrain use mini` puts a complete file in place")
    return document


def closest(name: object, known: Iterable[object]) -> str | None:
    """The known name that `name` most looks like, if any does."""
    matches = difflib.get_close_matches(str(name), [str(one) for one in known], n=1)
    return matches[0] if matches else None


def _hint(name: object, known: Iterable[object]) -> str:
    near = closest(name, known)
    return f"; did you mean {near}?" if near else f"; known: {', '.join(map(str, known))}"


def _fields_without_defaults(cls: type[Any]) -> list[Field[Any]]:
    found = [field for field in fields(cls) if field.init]
    for field in found:
        if field.default is not MISSING or field.default_factory is not MISSING:
            raise TypeError(f"{cls.__name__}.{field.name} has a default; defaults are written in params.yaml only")
    return found


def _check_keys(where: str, given: Mapping[Any, Any], wanted: list[str], partial: bool) -> None:
    if not partial:
        for key in given:
            if key not in wanted:
                raise SettingsError(f"{where}.{key}: unknown setting{_hint(key, wanted)}")
    if missing := [name for name in wanted if name not in given]:
        keys = ", ".join(missing)
        raise SettingsError(f"{where}.{missing[0]}: missing; add {keys} (the files in profiles/ hold all settings)")


def _check_declared(stage: str, section: str, wanted: list[str], path: Path) -> None:
    declared = read_stage(stage, path).params
    if section in declared:
        return
    for name in wanted:
        if f"{section}.{name}" not in declared:
            raise SettingsError(
                f"{path}: {section}.{name}: stage {stage} does not declare it; "
                f"add {section} or {section}.{name} to the stage's params in dvc.yaml"
            )


def _run_check(settings: object, path: Path, section: str, names: list[str]) -> None:
    check = getattr(settings, "check", None)
    if check is None:
        return
    try:
        check()
    except SettingsError as error:
        field = re.match(r"\w*", str(error))
        joint = "." if field and field[0] in names else ": "
        raise SettingsError(f"{path}: {section}{joint}{error}") from error


def _coerce(value: Any, kind: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin is Literal:
        return _choice(value, get_args(kind), where)
    if origin in (Union, types.UnionType):
        return _one_of(value, get_args(kind), where)
    if origin is list:
        return [_coerce(item, get_args(kind)[0], f"{where}[{i}]") for i, item in enumerate(_list(value, where))]
    if origin is tuple:
        return _tuple(value, get_args(kind), where)
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(where, "a mapping", value)
        _, kind = get_args(kind)
        return {_coerce(key, str, where): _coerce(item, kind, f"{where}.{key}") for key, item in value.items()}
    return _scalar(value, kind, where)


def _scalar(value: Any, kind: Any, where: str) -> Any:
    if kind is float:
        return _float(value, where)
    if kind is type(None):
        if value is not None:
            raise _wrong(where, "null", value)
        return None
    names = {int: "an integer", str: "text (quote it)", bool: "true or false"}
    if kind not in names:
        raise TypeError(f"{where}: fields of type {kind} are not supported")
    if type(value) is not kind:  # not isinstance: true would pass for 1
        raise _wrong(where, names[kind], value)
    return value


def _float(value: Any, where: str) -> float:
    # YAML reads 1e-5, and the 2e-05 that DVC's -S option writes, as text.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _wrong(where, "a number", value)
    try:
        number = float(value)
    except (ValueError, OverflowError) as error:
        raise _wrong(where, "a number", value) from error
    if not math.isfinite(number):
        raise _wrong(where, "a finite number", value)
    return number


def _choice(value: Any, allowed: tuple[Any, ...], where: str) -> Any:
    for one in allowed:
        if type(one) is type(value) and one == value:
            return one
    near = closest(value, allowed)
    hint = f"; did you mean {near}?" if near else ""
    raise SettingsError(f"{where}: must be one of {', '.join(map(str, allowed))}, is {value!r}{hint}")


def _one_of(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    problems: list[SettingsError] = []
    for kind in sorted(kinds, key=lambda kind: kind is not type(None)):
        try:
            return _coerce(value, kind, where)
        except SettingsError as error:
            problems.append(error)
    raise problems[-1]


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return value


def _tuple(value: Any, kinds: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    items = _list(value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise _wrong(where, f"a list of {len(kinds)}", value)
    return tuple(_coerce(item, kind, f"{where}[{i}]") for i, (item, kind) in enumerate(zip(items, kinds, strict=True)))


def _wrong(where: str, wanted: str, value: Any) -> SettingsError:
    return SettingsError(f"{where}: must be {wanted}, is {value!r}")
