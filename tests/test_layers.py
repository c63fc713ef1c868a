"""Imports go downward only, without cycles; no plug is imported early; public names are documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import loopdiff

ROOT = Path(loopdiff.__file__).parent
# A module may import from its own layer and from those above it in this list.
LAYERS = (
    ("errors", "homes", "names", "marks", "installation", "machine_codes", "disk", "deferred"),
    ("codes", "rules"),
    ("options", "requests", "scopes", "texts", "source"),
    ("ir",),
    ("codec",),
    ("frontend",),
    ("analysis",),
    ("transform",),
    ("ad",),
    ("backends",),
    ("keys", "store", "arena", "launch", "shortage", "guards", "mixing", "threads"),
    ("pipeline",),
    ("units",),
    ("specialization", "interface", "declared", "gradients"),
    ("call", "pullback", "sweep_calls", "runs", "buffers", "recycled", "tangents", "memory", "device", "recognition"),
    ("compiled", "generated", "entry_checks", "explain", "stopwatch", "tuning", "jacobian", "identity"),
    ("api",),
    ("testing", "rule_checks", "cuda"),
    ("jax", "torch"),
    ("fuzz",),
    ("__main__",),
)


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path) -> set[str]:
    """The loopdiff modules that a file imports, inside functions too, but not those for types alone."""
    found: set[str] = set()
    known = modules()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [s for s in tree.body if not (isinstance(s, ast.If) and ast.unparse(s.test) == "TYPE_CHECKING")]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return found & set(known)


def graph() -> dict[str, set[str]]:
    return {name: imports(path) - {name} for name, path in modules().items()}


def layer(module: str) -> int:
    part = module.split(".")[1] if "." in module else ""
    return next((k for k, names in enumerate(LAYERS) if part in names), len(LAYERS))


def test_every_module_has_a_layer() -> None:
    unknown = [m for m in modules() if m != "loopdiff" and layer(m) == len(LAYERS)]
    assert unknown == []


def test_imports_go_down() -> None:
    upward = [f"{a} imports {b}" for a, found in graph().items() for b in found if layer(b) > layer(a)]
    assert sorted(upward) == []


def test_no_cycles() -> None:
    links = graph()
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module not in done:
            for other in sorted(links[module]):
                visit(other, (*trail, module))
            done.add(module)

    for module in sorted(links):
        visit(module, ())


def test_one_module_imports_islpy() -> None:
    users = {m for m, p in modules().items() if re.search(r"^\s*(import|from) islpy", p.read_text(), re.M)}
    assert users == {"loopdiff.analysis.polyhedra_sets"}


@pytest.mark.parametrize("late", ["jax", "torch", "islpy"])
def test_importing_loopdiff_imports_no_plug_and_no_analysis(late: str) -> None:
    program = f"import sys, loopdiff; sys.exit({late!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_public_names_are_documented() -> None:
    text = (ROOT.parent / "docs" / "api.md").read_text(encoding="utf-8")
    missing = [name for name in loopdiff.__all__ if f"loopdiff.{name}" not in text and f"`{name}`" not in text]
    assert missing == []
    assert all(hasattr(loopdiff, name) for name in loopdiff.__all__)


def test_files_stay_readable() -> None:
    long = {m: n for m, p in modules().items() if (n := len(p.read_text(encoding="utf-8").splitlines())) > 500}
    assert long == {}
