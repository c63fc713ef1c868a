"""Imports go downward only, without cycles; no plug is imported early; public names are documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import loopdiff

ROOT = Path(loopdiff.__file__).parent
# The rooms of the package: a module may import from its own room and from those above it in this list.
ROOMS = (
    "immutable",
    "errors",
    "disk",
    "rules",
    "numpy_functions",
    "source",
    "settings",
    "ir",
    "analysis",
    "canonical",
    "mapping",
    "model",
    "ad",
    "frontend",
    "passes",
    "schedule",
    "backends",
    "report",
    "memory",
    "cache",
    "pipeline",
    "specialize",
    "calls",
    "checking",
    "differentiable",
    "api",
    "testing",
    "cuda",
    "scipy",
    "jax",
    "torch",
    "kernels",
    "fuzz",
    "__main__",
)
# Within rooms that have several floors: likewise.
FLOORS = {
    "analysis": ("polyhedral", ""),
    "passes": ("storage", "checks", "loops", "sweeps"),
    "schedule": ("", "cpu", "blocks", "gpu"),
}
MOST_FILES = 20  # of a folder
CROWDED = {}
# Modules that import inside of functions, and why: what a process may never need would cost each of them its time.
LATE = {
    "__main__": "commands are independent of each other",
    "api": "texts that are handed over with `source=`",
    "differentiable": "arrays of GPUs, autotuning, compiling ahead, Jacobians, figures, arguments that are structures",
    "backends.cuda.kernel_store": "kernels may come from disk, without their compiler",
    "backends.load": "functions may come from disk, without what registers the operations of generated code",
    "backends.ruled": "what `print` compiles to, where anything is printed",
    "calls.compiled": "the generated functions as Python calls them, what measures them, and explanations",
    "calls.runs": "arrays of GPUs, checksums on several threads, how much memory is free, and arrays in files",
    "calls.structured": "arrays of GPUs, and dictionaries that get keys of the run beside structures",
    "calls.threads": "the pool of threads",
    "cache.keys": "arguments that are structures",
    "memory.arena": "how much memory is free",
    "cuda": "the driver of GPUs",
    "disk.entries": "what makes room on disk",
    "kernels.operator": "JAX and PyTorch",
    "jax.calls": "calls on GPUs",
    "jax.handlers": "calls on GPUs",
    "calls.sweep_entry_points": "tapes that grow",
    "pipeline.code": "what is compiled may come from disk, without the compiler",
    "pipeline.derive": "what is derived may come from disk, without the compiler",
    "pipeline.stages": "what shows how far compiling is",
    "torch.wrapping": "what PyTorch's compiler sees, which imports that compiler",
    "source.functions": "functions of NumPy in Python, other spellings, and texts that no file holds, if there are any",
    "specialize.explain": "explanations",
    "specialize.interface": "what rounds long gradients of halves",
}


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(path)))


def imports(module: str, path: Path) -> Iterator[tuple[str, bool]]:
    """The loopdiff modules that a file imports, those for types alone included, and whether in a function."""
    known = modules()
    functions = [n for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(n) for f in functions for n in ast.walk(f)}
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((a.name, id(node) in inside) for a in node.names if a.name in known)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found = inner if inner in known else base
                if found in known and found != module:
                    yield found, id(node) in inside


@cache
def graph() -> dict[str, set[str]]:
    return {name: {found for found, _ in imports(name, path)} for name, path in modules().items()}


def place(module: str) -> tuple[str, str]:
    """The room of a module, and its floor there."""
    parts = [*module.split(".")[1:], "", ""]
    is_package = modules()[module].name == "__init__.py"
    return parts[0], parts[1] if parts[2] or is_package else ""


def is_upward(module: str, other: str) -> bool:
    (room, floor), (other_room, other_floor) = place(module), place(other)
    if room == other_room:
        floors = FLOORS.get(room, ())
        return floor != other_floor and bool(floors) and floors.index(floor) < floors.index(other_floor)
    return ROOMS.index(room) < ROOMS.index(other_room)


def test_every_module_has_a_room() -> None:
    assert [m for m in modules() if m != "loopdiff" and place(m)[0] not in ROOMS] == []


def test_imports_go_down() -> None:
    links = {m: found for m, found in graph().items() if m != "loopdiff"}
    upward = [f"{a} imports {b}" for a, found in links.items() for b in found if is_upward(a, b)]
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


def test_imports_in_functions_have_a_reason() -> None:
    late = {m.partition(".")[2] for m, path in modules().items() if any(late for _, late in imports(m, path))}
    assert late == set(LATE)


def test_rooms_can_be_looked_over() -> None:
    folders = Counter(path.parent.relative_to(ROOT.parent) for path in modules().values() if path.name != "__init__.py")
    assert {str(folder): count for folder, count in folders.items() if count > MOST_FILES} == CROWDED


def helpers() -> dict[str, set[str]]:
    """Names of functions and classes that other modules import, with the modules that define them."""
    defined = {
        m: {n.name for n in parsed(p).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        for m, p in modules().items()
    }
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules().values():
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module in defined and not node.level:
                for alias in node.names:
                    if alias.name in defined[node.module]:
                        found[alias.name].add(node.module)
    return found


def test_what_other_modules_import_has_a_name_of_its_own() -> None:
    """A reader who meets a name knows what it is. Operations of generated code have the names of what they do."""
    own = {n: {m for m in f if not m.startswith("loopdiff.backends.")} for n, f in helpers().items()}
    assert {name: found for name, found in own.items() if len(found) > 1} == {}


def test_nodes_are_named_with_their_module() -> None:
    """`ir.Loop` is a node, `ast.For` is Python's, `llvm_ir.Function` is LLVM's: nobody looks up which is meant."""
    spelled = re.compile(r"from loopdiff\.ir\.nodes import|from llvmlite import ir$", re.M)
    assert [m for m, p in modules().items() if spelled.search(p.read_text(encoding="utf-8"))] == []


def test_one_module_imports_islpy() -> None:
    users = {m for m, p in modules().items() if re.search(r"^\s*(import|from) islpy", p.read_text(), re.M)}
    assert users == {"loopdiff.analysis.polyhedral.translation"}


@pytest.mark.parametrize("late", ["jax", "torch", "islpy"])
def test_importing_loopdiff_imports_no_plug_and_no_analysis(late: str) -> None:
    program = f"import sys, loopdiff; sys.exit({late!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_public_names_are_documented() -> None:
    text = (ROOT.parent / "docs" / "api.md").read_text(encoding="utf-8")
    missing = [name for name in loopdiff.__all__ if f"loopdiff.{name}" not in text and f"`{name}`" not in text]
    assert missing == []
    assert all(hasattr(loopdiff, name) for name in loopdiff.__all__)
    assert sorted(dir(loopdiff)) == sorted([*loopdiff.__all__, "__version__"])


def test_files_stay_readable() -> None:
    long = {m: n for m, p in modules().items() if (n := len(p.read_text(encoding="utf-8").splitlines())) > 500}
    assert long == {}
