"""JSON objects to frozen dataclasses, strictly: every key, no other key, and each value of its field's type."""

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from posttrain.errors import DataError

T = TypeVar("T")


def build(cls: type[T], row: Any, where: str) -> T:
    """The dataclass that `row` holds; `where` stands in front of what is wrong.

    Fields can be str, int, float, bool, a Literal, a StrEnum, another such dataclass, tuple[X, ...], list[X],
    dict[str, X], or X | None. Numbers must be finite.

    Raises:
        DataError: a key is missing, unknown, or has a value of another type.
    """
    if not isinstance(row, Mapping):
        raise DataError(f"{where}: expected a JSON object, found {type(row).__name__}")
    kind: Any = cls
    hints: dict[str, Any] = _hints(kind)
    if missing := [name for name in hints if name not in row]:
        raise DataError(f"{where}: {missing[0]} is missing; wanted are {', '.join(hints)}")
    if unknown := [name for name in row if name not in hints]:
        raise DataError(f"{where}: {str(unknown[0])[:80]!r} does not belong there; known are {', '.join(hints)}")
    return cls(**{name: _value(row[name], hint, f"{where}: {name}") for name, hint in hints.items()})


@cache
def _hints(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _value(value: Any, kind: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [each for each in inner if each is not type(None)]
        return None if value is None else _value(value, kinds[0], where)
    if origin in (tuple, list) and isinstance(value, list | tuple):
        return origin(_value(item, inner[0], f"{where}[{place}]") for place, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: _value(item, inner[1], f"{where}: {key}") for key, item in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return build(kind, value, where)
    if isinstance(kind, type) and issubclass(kind, StrEnum) and value in list(kind):
        return kind(value)
    if kind is float and type(value) in (int, float) and _finite(value):
        return float(value)
    if (origin is Literal and isinstance(value, str) and value in inner) or (kind is not float and type(value) is kind):
        return value
    raise DataError(f"{where}: {str(value)[:80]!r} cannot stand there")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # of an integer that no float can hold
        return False
