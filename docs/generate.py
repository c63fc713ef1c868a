"""Writes the pages that follow from the source: the language table, the error index, the passes and the rooms.

    python docs/generate.py

The suite fails when a page on disk is not what this writes.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

from loopdiff.errors.codes import CODES
from loopdiff.frontend.language import language_table
from loopdiff.frontend.refused import REFUSED_EXPRESSIONS, REFUSED_METHODS, REFUSED_STATEMENTS
from loopdiff.pipeline.table import table

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "loopdiff"
COUNTS = HERE.parent / "tests" / "replay" / "counts.json"  # written by `python -m tests.replay count FILE --write`
FAMILIES = {
    "1": ("Outside the language", "UnsupportedLoopError", "raised when the function is decorated"),
    "2": ("Types", "UnsupportedLoopError", "raised at the first call with types that do not fit"),
    "3": ("Arguments", "ArgumentError", "raised by a call, before memory is touched"),
    "4": (
        "Differentiation",
        "DifferentiationError",
        "raised when a derivative does not exist or has no rule",
    ),
    "5": ("Schedules", "ScheduleError", "raised when a requested mapping is forbidden"),
    "6": ("Back ends", "BackendError", "raised when generated source cannot be compiled"),
    "9": ("Internal", "InternalError", "a broken invariant of loopdiff itself: please report it"),
}


def language_page() -> str:
    lines = [
        "# Language",
        "",
        "Functions are loop nests over NumPy arrays and scalars. The examples are bodies of",
        "`def f(A, x, y, idx, n, s)`: a float matrix, two float vectors, integer indices, an integer and a",
        "float. This page is generated from `loopdiff/frontend/language.py`; each example is a test.",
        "",
        language_table().rstrip(),
        "",
        "Arrays hold float64, float32, booleans, or integers up to int64 and uint32, any rank, any strides.",
        "Scalar arguments are Python or NumPy numbers.",
        "",
        "## What is refused",
        "",
        "Everything else is refused when the function is decorated, with all findings in one report. The",
        "[error index](errors.md) explains every code.",
        "",
        "| statement | code | instead |",
        "| --- | --- | --- |",
    ]
    for node, (code, message, hint) in REFUSED_STATEMENTS.items():
        shown = message.split(" is not ")[0].split(" are not ")[0]
        lines.append(f"| {shown} ({node.__name__}) | {link(code)} | {hint or CODES[code].rewrite} |")
    lines += ["", "| expression | reason | instead |", "| --- | --- | --- |"]
    for expression, (reason, hint) in REFUSED_EXPRESSIONS.items():
        lines.append(f"| {expression.__name__} | {reason} | {hint or '-'} |")
    lines += ["", "| call or method | instead |", "| --- | --- |"]
    lines += [f"| `{name}` | {hint} |" for name, hint in sorted(REFUSED_METHODS.items())]
    return "\n".join(lines) + "\n"


def link(code: str) -> str:
    return f"[{code}](errors.md#{code.lower()})"


def error_page() -> str:
    lines = [
        "# Error index",
        "",
        "Every report starts with a stable code, quotes the line of your program with carets, and ends with",
        "the smallest rewrite that works. All errors derive from `loopdiff.LoopdiffError`; `codes` lists",
        "the codes of a report. This page is generated from `loopdiff/errors/codes.py`.",
    ]
    family = ""
    for code, entry in sorted(CODES.items()):
        if code[2] != family:
            family = code[2]
            title, error, when = FAMILIES[family]
            lines += ["", f"## LD{family}xx: {title}", "", f"`{error}`, {when}."]
        lines += ["", f"### {code}", "", f"**{entry.title}.** {entry.explanation}", ""]
        lines += [f"*Instead:* {entry.rewrite}."]
    return "\n".join(lines) + "\n"


def pass_page() -> str:
    counts = json.loads(COUNTS.read_text(encoding="utf-8"))
    lines = [
        "# Passes",
        "",
        "A pass gives loops anew; the interpreter finds the same results before and after it, up to the order of",
        "sums where the table says that this changes (then it runs under `fastmath=True` only). They run in this",
        "order; the list is `loopdiff/pipeline/passes.py`, from which this page is generated. After each pass that",
        "changed anything the loops are verified, and `LOOPDIFF_DUMP=folder` writes them down.",
        "",
        "* `python -m loopdiff passes program.py:function` runs a program and shows which passes changed the functions",
        "  that are made from one of its functions.",
        "* `LOOPDIFF_SKIP=fuse,gather` leaves passes out, in one process.",
        "* `python -m loopdiff bisect python program.py` finds the change that makes a command fail, as LLVM's",
        "  `-opt-bisect-limit` does: `LOOPDIFF_BISECT=n` lets only the first n changes happen.",
        "* `python -m loopdiff run-dump folder/012-fuse-f.txt` interprets the loops of a dump, on random numbers or on",
        "  the arrays of an `.npz` file ([more](contributing/wrong_gradient.md#a-pass-that-is-wrong)).",
        "",
        f"The last column says how many of the {counts.pop('')} programs of the corpus a pass changes, for any target.",
        "",
        table(counts),
    ]
    return "\n".join(lines) + "\n"


def room_page() -> str:
    sys.path.insert(0, str(HERE.parent))
    from tests.test_layers import ROOMS

    lines = [
        "# Rooms",
        "",
        "Each folder of the package is one idea, and imports go one way: a file may import from its own folder and",
        "from those above it on this page (`tests/test_layers.py`). The page is generated from the first lines of the",
        "files.",
    ]
    for room in ROOMS:
        folder = PACKAGE / room
        if folder.is_dir():
            for place in [folder, *sorted(f for f in folder.rglob("*") if f.is_dir() and (f / "__init__.py").exists())]:
                lines += ["", *folder_table(place)]
        else:
            lines += ["", f"## `{room}.py`", "", first_sentence(PACKAGE / f"{room}.py")]
    return "\n".join(lines) + "\n"


def folder_table(folder: Path) -> list[str]:
    name = folder.relative_to(PACKAGE)
    files = sorted(p for p in folder.glob("*.py") if p.name != "__init__.py")
    rows = [f"| `{p.stem}` | {first_sentence(p)} |" for p in files]
    head = ["", "| file | |", "| --- | --- |"] if rows else []
    return [f"{'#' * (len(name.parts) + 1)} `{name}`", "", first_sentence(folder / "__init__.py"), *head, *rows]


def first_sentence(path: Path) -> str:
    """What a file says of itself, up to the first blank line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


PAGES = {"language.md": language_page, "errors.md": error_page, "passes.md": pass_page, "rooms.md": room_page}


def main() -> None:
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
