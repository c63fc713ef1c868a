"""Every Python block of the README and the documentation runs, and says what its output block says.

The blocks of one page run in order in one namespace, as a reader would type them. A block fenced as `text`
right after a Python block is the expected output; `...` in it stands for anything. Blocks of `{.python .no-run}`
show code that needs a machine or package the suite does not have.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import linecache
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    line: int
    code: str
    output: str | None


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    end = -1
    for match in FENCE.finditer(text):
        kind = match["kind"].strip()
        line = text[: match.start()].count("\n") + 2
        if kind == "python":
            found.append(Block(line, match["body"], None))
            end = match.end()
        elif kind == "text" and end >= 0 and not text[end : match.start()].strip():
            found[-1] = found[-1]._replace(output=match["body"])
            end = -1
        else:
            end = -1
    return found


def run_page(path: Path) -> None:
    name = f"page_{re.sub(r'[^a-z]', '_', path.stem.lower())}"
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        for number, block in enumerate(blocks(path.read_text(encoding="utf-8"))):
            file = f"<{path.name} block {number}>"
            source = block.code
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                try:
                    exec(compile(source, file, "exec"), module.__dict__)
                except Exception as error:
                    error.add_note(f"in the block at {path.name}:{block.line}")
                    raise
            if block.output is not None:
                check_output(path, block, printed.getvalue())
    finally:
        del sys.modules[name]


def check_output(path: Path, block: Block, printed: str) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert block.output is not None
    if not doctest.OutputChecker().check_output(block.output, printed, flags):
        pytest.fail(f"{path.name}:{block.line} printed\n{printed}\nwhere the page says\n{block.output}")


@pytest.mark.part(5)
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_code_blocks(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "import loopdiff.jax" in text and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    if "import loopdiff.torch" in text and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    run_page(path)


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_generated_pages_are_current() -> None:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    stale = [n for n, page in generator.PAGES.items() if (ROOT / "docs" / n).read_text(encoding="utf-8") != page()]
    assert stale == [], "run `python docs/generate.py`"
