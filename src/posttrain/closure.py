"""Which first-party files a script imports, directly or through others; a DVC stage's code deps are exactly these."""

import ast
from pathlib import Path

from posttrain.errors import DataError

PACKAGE = "posttrain"


def import_closure(script: Path, source: Path) -> list[Path]:
    """The script and every module of the package that it imports, anywhere in its text, sorted.

    `source` is the directory that holds the package. Empty `__init__.py` files are left out; one with code is a
    mistake, since importing any module would run it.

    Raises:
        DataError: that mistake, or a file that is not Python.
    """
    found: set[Path] = set()
    todo = [script]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        todo += [module for name in _imported(path) for module in _files(name, source)]
    return sorted(found)


def _imported(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise DataError(f"{path}:{error.lineno}: {error.msg}; mend it and run again") from error
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == PACKAGE]


def _files(name: str, source: Path) -> list[Path]:
    base = source.joinpath(*name.split("."))
    parents = [base, *base.parents][: len(name.split("."))]
    for package in parents:
        init = package / "__init__.py"
        if init.exists() and init.read_text(encoding="utf-8").strip():
            raise DataError(f"{init} holds code, which every import below it would run; move it to a module")
    module = base.with_suffix(".py")
    return [module] if module.exists() else []
