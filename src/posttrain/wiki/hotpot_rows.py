"""One HotpotQA record, checked: the hub's schema or the official JSON's."""

from typing import Any

from posttrain.errors import DataError
from posttrain.wiki.data_settings import LEVELS, TYPES
from posttrain.wiki.rows import Row


def parse_row(where: str, record: dict[str, Any], contexts: bool = True) -> Row:
    """Checks one record of either schema; `contexts` false leaves its paragraphs unread.

    Raises:
        DataError: a field is missing, empty or of the wrong shape, or type or level is unknown.
    """
    kind, level = text_field(where, record, "type"), text_field(where, record, "level")
    for name, value, known in (("type", kind, TYPES), ("level", level, LEVELS)):
        if value not in known:
            raise DataError(f"{where}: {name} {value!r} is unknown; use one of {', '.join(known)}")
    row = Row(
        id=text_field(where, record, "id", "_id"),
        question=text_field(where, record, "question"),
        answers=_answers(where, record),
        type=kind,
        level=level,
        titles=tuple(dict.fromkeys(_strings(where, "supporting_facts", _pairs(where, record, "supporting_facts", 0)))),
        context=_context(where, record) if contexts else (),
        where=where,
    )
    if not row.titles:
        raise DataError(f"{where}: supporting_facts is empty; without gold titles retrieval cannot be judged")
    parts = [row.id, row.question, *row.answers, *row.titles]
    parts += [text for title, sentences in row.context for text in (title, *sentences)]
    check_unicode(where, "".join(parts))
    return row


def check_unicode(where: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where}: a lone surrogate cannot be written as UTF-8") from error


def text_field(where: str, record: dict[str, Any], *names: str) -> str:
    value = next((record[name] for name in names if name in record), None)
    if not isinstance(value, str):
        raise DataError(f"{where}: {names[0]} should be a string, found {type(value).__name__}")
    if not value.strip():
        raise DataError(f"{where}: {names[0]} is empty")
    return value


def _answers(where: str, record: dict[str, Any]) -> tuple[str, ...]:
    if "answers" not in record:
        return (text_field(where, record, "answer"),)
    answers = _strings(where, "answers", record["answers"])
    if not answers or not all(answer.strip() for answer in answers):
        raise DataError(f"{where}: answers is empty or holds an empty answer")
    return answers


def _strings(where: str, name: str, values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise DataError(f"{where}: {name} should hold a list of strings")
    return tuple(values)


def _pairs(where: str, record: dict[str, Any], name: str, part: int) -> list[Any]:
    """One side of a list of pairs, which the hub keeps as two lists and the official file as a list of pairs."""
    value = record.get(name)
    if isinstance(value, dict):
        keys = ("title", "sentences" if name == "context" else "sent_id")
        if all(isinstance(value.get(key), list) for key in keys) and len({len(value[key]) for key in keys}) == 1:
            return list(value[keys[part]])
        raise DataError(f"{where}: {name} should hold the lists {' and '.join(keys)} of one length")
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return [pair[part] for pair in value]
    raise DataError(f"{where}: {name} is {'missing' if value is None else 'not a list of pairs'}")


def _context(where: str, record: dict[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    titles = _strings(where, "context", _pairs(where, record, "context", 0))
    if not all(title.strip() for title in titles):
        raise DataError(f"{where}: context holds an empty title")
    sentences = [_strings(where, "context sentences", found) for found in _pairs(where, record, "context", 1)]
    return tuple(zip(titles, sentences, strict=True))
