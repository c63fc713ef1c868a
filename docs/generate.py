"""Writes the pages that follow from the source: the language table, the error index, passes, rooms and the gallery.

    python docs/generate.py
    python docs/generate.py --gallery [NAME ...]

The second line also runs these programs of the gallery, or all, and needs the matplotlib of the extra `bench`.

The suite fails when a page on disk is not what this writes. What programs of the gallery printed is kept in
`gallery/printed.json`; the suite runs them anyway, and compares.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from loopdiff.errors.codes import CODES
from loopdiff.frontend.language import language_table
from loopdiff.frontend.refused import (
    REFUSED_ATTRIBUTES,
    REFUSED_EXPRESSIONS,
    REFUSED_METHODS,
    REFUSED_MODULES,
    REFUSED_STATEMENTS,
)
from loopdiff.pipeline.table import table

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "loopdiff"
COUNTS = HERE.parent / "tests" / "replay" / "counts.json"  # written by `python -m tests.replay count FILE --write`
GALLERY = HERE.parent / "examples" / "gallery"
PRINTED = HERE / "gallery" / "printed.json"
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
    table = {**REFUSED_METHODS, **REFUSED_ATTRIBUTES, **{f"{module}.*": h for module, h in REFUSED_MODULES.items()}}
    lines += [f"| `{name}` | {hint} |" for name, hint in sorted(table.items())]
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


def kernel_page() -> str:
    """The operators of the kernel library, a table for each module."""
    import loopdiff.kernels
    from loopdiff.kernels import Operator

    about = "What [the kernel library](kernels.md) has. This page is generated from its docstrings."
    lines = ["# Operators", "", about, ""]
    for room in loopdiff.kernels.ROOMS:
        package = importlib.import_module(f"loopdiff.kernels.{room}")
        groups: dict[str, list[Operator]] = {}
        for name in package.__all__:
            groups.setdefault(getattr(package, name).__module__, []).append(getattr(package, name))
        lines += [f"## `loopdiff.kernels.{room}`", "", (package.__doc__ or "").strip(), ""]
        for module, operators in groups.items():
            path = PACKAGE.parent / (module.replace(".", "/") + ".py")
            lines += [f"### {path.stem.replace('_', ' ').capitalize()}", "", first_sentence(path), ""]
            lines += ["| operator | what it computes |", "| --- | --- |"]
            lines += [f"| `{o.__name__}{inspect.signature(o)}` | {summary(o)} |" for o in operators]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def summary(operator: Any) -> str:
    """The first paragraph of a docstring, as a cell of a table."""
    paragraph = (inspect.getdoc(operator) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


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


def gallery_index() -> str:
    lines = [
        "# Gallery",
        "",
        "Models of several sciences as plain Python, fitted by their gradients: `examples/gallery`. Their pages",
        "show the source, what it prints, and a plot of what was found where that says more.",
        "",
    ]
    lines += [f"* [{title}]({p.stem}.md): {first_sentence(p)}" for p, title in programs().items()]
    return "\n".join(lines) + "\n"


def programs() -> dict[Path, str]:
    """The programs of the gallery, and the titles of their pages, in the order of the navigation."""
    navigation = (HERE.parent / "mkdocs.yml").read_text(encoding="utf-8")
    titles = {name: title for title, name in re.findall(r"- (.+): gallery/(\w+)\.md", navigation)}
    paths = {path.stem: path for path in sorted(GALLERY.glob("*.py"))}
    assert set(titles) - {"index"} == set(paths), "pages of the gallery are listed in mkdocs.yml"
    return {paths[name]: title for name, title in titles.items() if name in paths}


def gallery_page(path: Path, title: str) -> str:
    """A program of the gallery, what it printed when it was last run, and what was drawn of it."""
    source = path.read_text(encoding="utf-8").rstrip()
    printed = json.loads(PRINTED.read_text(encoding="utf-8"))[path.stem]
    lines = [f"# {title}", "", first_sentence(path), ""]
    if (HERE / "gallery" / f"{path.stem}.svg").exists():
        lines += [f"![What {path.name} found]({path.stem}.svg)", ""]
    lines += ["```python", source, "```", "", "It prints", "", "```text", printed.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def run_gallery(chosen: list[str]) -> None:
    """Runs programs, keeps what they print, and draws what their `main` gives: vectors as lines, matrices as images."""
    kept = json.loads(PRINTED.read_text(encoding="utf-8")) if PRINTED.exists() else {}
    for path in programs():
        if chosen and path.stem not in chosen:
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            results = module.main()
        kept[path.stem] = out.getvalue()
        if results is not None:
            draw(results, HERE / "gallery" / f"{path.stem}.svg")
    kept = {p.stem: kept[p.stem] for p in programs() if p.stem in kept}
    PRINTED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def draw(results: dict[str, Any], path: Path) -> None:
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": path.stem, "font.size": 8, "image.cmap": "viridis"}
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    images = [v for v in results.values() if v.ndim == 2]
    figure, axes = pyplot.subplots(1, max(len(images), 1), figsize=(6.4, 2.6), squeeze=False)
    if images:
        for place, (name, image) in zip(axes[0], results.items(), strict=True):
            place.imshow(image, aspect="auto" if image.shape[1] > 3 * image.shape[0] else "equal")
            place.set_title(name, fontsize=8)
    else:
        for k, (name, line) in enumerate(results.items()):
            axes[0, 0].plot(line, label=name, linestyle=("-", "--", ":", "-.")[k % 4])
        axes[0, 0].legend(frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


PAGES = {"language.md": language_page, "errors.md": error_page, "passes.md": pass_page, "rooms.md": room_page}
PAGES |= {"operators.md": kernel_page}
PAGES |= {"gallery/index.md": gallery_index} | {
    f"gallery/{p.stem}.md": partial(gallery_page, p, title) for p, title in programs().items()
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gallery", nargs="*", metavar="NAME", help="run these programs of the gallery, or all")
    chosen = parser.parse_args().gallery
    if chosen is not None:
        run_gallery(chosen)
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
