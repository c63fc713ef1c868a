"""Which values are still in memory, and which reads see values from outside: questions about flow, answered by sets."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from loopdiff.analysis.affine import Model, Reference, exclusive, result_reads
from loopdiff.ir.nodes import Access, Const, Dim
from loopdiff.ir.walk import Path

Exposed = tuple[tuple[Path, Access], ...]


def overwritten_after(model: Model, path: Path, access: Access, scope: Path | None = None) -> bool:
    """Whether the element that the statement at `path` reads as `access` may be written after that read.

    Its own write counts as after. `scope`: only up to the end of the current iteration of the loop at that path.
    """
    writes = [r for r in model.references.get(access.array, ()) if r.is_write and inside(r.site.path, scope)]
    return any(may_follow(model, path, access, w, scope) for w in writes)


def inside(path: Path, scope: Path | None) -> bool:
    return scope is None or (len(path) > len(scope) and path[: len(scope)] == scope)


def common_loops(model: Model, a: Path, b: Path) -> tuple[Path, ...]:
    out: list[Path] = []
    for x, y in zip(model.loops_of(a), model.loops_of(b), strict=False):
        if x != y:
            break
        out.append(x)
    return tuple(out)


def fixed_depth(common: tuple[Path, ...], scope: Path | None) -> int:
    """Number of common loops whose index the scope holds fixed: those down to and including the scope itself."""
    return 0 if scope is None else sum(1 for p in common if len(p) <= len(scope))


def later(model: Model, loop: Path, first: str, second: str) -> str:
    """That the iteration tagged `second` of a loop comes after the one tagged `first`."""
    stmt = model.loop(loop)
    before, after = f"{stmt.index}_{first}", f"{stmt.index}_{second}"
    if not isinstance(stmt.step, Const):
        return f"{before} != {after}"
    return f"{before} < {after}" if int(stmt.step.value) > 0 else f"{before} > {after}"


def equal_indices(model: Model, loops: tuple[Path, ...], first: str, second: str) -> list[str]:
    return [f"{model.loop(p).index}_{first} = {model.loop(p).index}_{second}" for p in loops]


def may_follow(model: Model, path: Path, access: Access, write: Reference, scope: Path | None) -> bool:
    """Whether an instance of `write` may touch the element read at `path`, after that read."""
    target = write.site.path
    common = common_loops(model, path, target)
    base = [*model.constraints(path, "x"), *model.constraints(target, "y")]
    if not write.is_whole:
        base += model.same_address(access, "x", write.access, "y")
    variables = [*model.variables(path, "x"), *model.variables(target, "y")]
    orders = [
        [*equal_indices(model, common[:depth], "x", "y"), later(model, common[depth], "x", "y")]
        for depth in range(fixed_depth(common, scope), len(common))
    ]
    if target >= path and not exclusive(path, target, model.sites):
        orders.append(equal_indices(model, common, "x", "y"))
    return any(not model.make_set(variables, [*base, *order]).is_empty() for order in orders)


def exposed_reads(model: Model, scope: Path | None = None) -> Exposed:
    """Reads that may see a value not written before in the function (in the same iteration of the loop `scope`)."""
    out: list[tuple[Path, Access]] = []
    for references in model.references.values():
        for read in references:
            if not read.is_write and inside(read.site.path, scope) and is_exposed(model, read, references, scope):
                out.append((read.site.path, read.access))
    return tuple(out)


def is_exposed(model: Model, read: Reference, references: list[Reference], scope: Path | None) -> bool:
    """Whether some instance of `read` finds no certain earlier write of its element within the scope."""
    path = read.site.path
    exact = [model.affine(s, "x") for s in read.access.subscripts]
    elements = [f"z{k}" for k in range(len(exact))]
    where = [f"z{k} = {text}" for k, text in enumerate(exact) if text is not None]
    where += element_range(model, read.access, exact)
    variables = [*model.variables(path, "x"), *elements]
    open_set = model.make_set(variables, [*model.constraints(path, "x"), *where])
    for write in references:
        certain = write.is_whole or model.domains[write.site.path].is_exact
        if write.is_write and certain and write.update is None and inside(write.site.path, scope):
            for covered in covered_by(model, read, write, scope, variables, where):
                open_set = open_set.subtract(covered)
                if open_set.is_empty():
                    return False
    return not open_set.is_empty()


def element_range(model: Model, access: Access, exact: list[str | None]) -> list[str]:
    """Bounds on the elements of axes whose subscript is not affine."""
    decl = model.ls.array(access.array)
    out: list[str] = []
    for axis, text in enumerate(exact):
        if text is not None:
            continue
        out.append(f"z{axis} >= 0")
        if decl.role == "argument":
            extent = model.names.get(Dim(decl.name, axis))
        else:
            extent = model.affine((decl.extents or ())[axis], "x")
        if extent is not None:
            out.append(f"z{axis} < {extent}")
    return out


def covered_by(
    model: Model, read: Reference, write: Reference, scope: Path | None, variables: list[str], where: list[str]
) -> Iterator[isl.Set]:
    """Sets of (read instance, element) that `write` has certainly written before."""
    path, target = read.site.path, write.site.path
    common = common_loops(model, path, target)
    subscripts = [model.affine(s, "y") for s in write.access.subscripts]
    if any(text is None for text in subscripts) and not write.is_whole:
        return
    base = [*model.constraints(path, "x"), *model.constraints(target, "y"), *where]
    base += [f"z{k} = {text}" for k, text in enumerate(subscripts)]
    inner = model.variables(target, "y")
    orders = [
        [*equal_indices(model, common[:depth], "x", "y"), later(model, common[depth], "y", "x")]
        for depth in range(fixed_depth(common, scope), len(common))
        if isinstance(model.loop(common[depth]).step, Const)
    ]
    if target < path and not exclusive(path, target, model.sites):
        orders.append(equal_indices(model, common, "x", "y"))
    for order in orders:
        pairs = model.make_set([*variables, *inner], [*base, *order])
        yield pairs.project_out(isl.dim_type.set, len(variables), len(inner))


def read_after(model: Model, scope: Path, array: str) -> bool:
    """Whether a value written to `array` in an iteration of the loop `scope` may be read after that iteration.

    Later iterations count only where a read is exposed in its own iteration; any read outside the loop that may run
    after it counts.
    """
    if array in result_reads(model.ls):
        return True
    references = model.references.get(array, [])
    for read in references:
        if read.is_write:
            continue
        path = read.site.path
        if inside(path, scope):
            if is_exposed(model, read, references, scope):
                return True
        elif path > scope or bool(common_loops(model, path, scope)):
            return True
    return False
