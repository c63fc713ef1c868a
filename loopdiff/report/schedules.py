"""A schedule in words: what each loop became and why, how long it is predicted to take, and where sums go."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.contractions import access_indices
from loopdiff.analysis.strides import lane_axis
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, Site, all_statements, loads_of, map_expr, statements, subexprs
from loopdiff.mapping.loops import Mapping as LoopMapping
from loopdiff.mapping.loops import Parallel, ScalarLoop, Schedule, Serial, Sharing, TiledNest, VectorLoop
from loopdiff.model.machine import Machine
from loopdiff.model.prediction import Prediction
from loopdiff.model.register_tiles import product_blocks, tile_shape
from loopdiff.source.words import in_units, stem_of

NONE: frozenset[str] = frozenset()


def explain_schedule(schedule: Schedule, ls: ir.LoopSet, machine: Machine, prediction: Prediction | None = None) -> str:
    """One line for each loop; `prediction` says how long nests take."""
    sharing = dict(schedule.sharing)
    times = {} if prediction is None else dict(prediction.nests)
    sites = {s.path: s for s in statements(ls.body)}
    lines: list[str] = []
    for path, mapping in sorted(schedule.mappings, key=lambda p: p[0]):
        loop = sites[path].stmt
        assert isinstance(loop, ir.Loop)
        depth = "  " * len(sites[path].loops)
        where = f" ({loop.loc.in_words})" if loop.loc.line else ""
        took = f"; predicted {in_units(times[path])}" if path in times else ""
        text = words(mapping, loop, ls, machine)
        lines.append(f"{depth}for {loop.index}{where}: {text}{sharing_words(sharing.get(path), text)}{took}")
        lines += [f"{depth}  {text}" for text in sums(mapping, path, sites)]
    return "\n".join(lines)


def words(mapping: LoopMapping, loop: ir.Loop, ls: ir.LoopSet, machine: Machine) -> str:
    match mapping:
        case VectorLoop(reductions=reductions, may_be_short=may_be_short):
            lanes = f", lanes of {', '.join(f'`{r}`' for r in reductions)} added at the end" if reductions else ""
            return f"vectorised{' but for what is left over' if may_be_short else ''}{lanes}"
        case TiledNest():
            return tile_words(mapping, loop, ls, machine)
        case ScalarLoop(reason=reason, together=together):
            return f"scalar{f', {together} rows together' if together > 1 else ''}: {reason}"


def tile_words(tile: TiledNest, loop: ir.Loop, ls: ir.LoopSet, machine: Machine) -> str:
    """The shape of a register tile, and what its vectors lie along."""
    target = next(s.target for s in all_statements((loop,)) if isinstance(s, ir.Accumulate))
    kind = ls.array(target.array).type
    lanes = machine.lanes(32 if kind is not None and kind.dtype == "float32" else 64)
    shape = tile_shape(tile, machine.bits, lanes)
    held = "dot products" if tile.is_dot else f"vectors along `{tile.lanes}`"
    sides = [tile.rows] if tile.is_dot or tile.columns == tile.lanes else [tile.rows, tile.columns]
    unrolled = "".join(f", `{s}` unrolled" for s in sides if s)
    summed = ", ".join(f"`{s}`" for s in tile.sums)
    lead = f"register tile of {shape.rows} x {shape.columns} {held}{unrolled}"
    return f"{lead}, summed over {summed}{blocks(tile, machine)}"


def blocks(tile: TiledNest, machine: Machine) -> str:
    """How a product of matrices is blocked for the caches."""
    if tile.product is None:
        return ""
    if tile.product.lanes:
        return ", all arrays packed"
    copied = "packed" if tile.product.is_packed else "packed if it exceeds the first cache"
    return f", {product_blocks(machine).depth} at a time, `{tile.product.right.array}` {copied}"


def sharing_words(sharing: Sharing | None, known: str) -> str:
    """Whether the loop is shared among threads, and why not unless that is `known`."""
    match sharing:
        case Parallel(granule=granule, sums=sums, near=near, arrays=arrays, zero=zero):
            size = f"chunks of {' and '.join(f'`{k}`' for k in sharing.cut)}"
            size += f" by multiples of {granule}" if granule > 1 else ""
            if sharing.further:
                size += f", where these are few cut along {' and '.join(f'`{c.index}`' for c in sharing.further)}"
            if sharing.instead:
                inside = ", ".join(f"`{s.index}`" for _, s in sharing.instead)
                size += f", where there is one of {inside} instead"
            if near:
                size += f", every second one first for {', '.join(f'`{n}`' for n in near)}"
            if sharing.late:
                size += f", their first {max(sharing.late)} in part when all have ended"
            if sharing.early:
                size += f", begun {sharing.early} earlier"
            groups = ((("sums of ", n) for n, _ in sums), (("its own ", n) for n in (*arrays, *zero)))
            own = [f"{what}`{name}`" for group in groups for what, name in group]
            return f"; in parallel, {size}{'; per chunk ' + ', '.join(own) if own else ''}"
        case Serial(reason=reason) if reason not in known:
            return f"; on one thread: {reason}"
        case _:
            return ""


# -- sums -----------------------------------------------------------------------------------------------------
def sums(mapping: LoopMapping, path: Path, sites: dict[Path, Site]) -> Iterator[str]:
    """Where the sums of the statements below the loop at `path` go, if the loop is the one that they run in."""
    inside = [s for p, s in sites.items() if p[: len(path)] == path and isinstance(s.stmt, ir.Accumulate)]
    if isinstance(mapping, ScalarLoop):
        inside = [s for s in inside if isinstance(s.stmt, ir.Accumulate) and s.loops[-1] is sites[path].stmt]
    held = mapping.reductions if isinstance(mapping, VectorLoop) else ()
    nest = [s for p, s in sites.items() if p[0] == path[0]]
    for array in dict.fromkeys(s.stmt.target.array for s in inside if isinstance(s.stmt, ir.Accumulate)):
        own = [s for s in inside if isinstance(s.stmt, ir.Accumulate) and s.stmt.target.array == array]
        if array not in held and any(isinstance(s.stmt, ir.Accumulate) and s.stmt.target.subscripts for s in own):
            yield f"`{array}` in {form(array, own, nest, mapping)}"


def form(array: str, own: list[Site], nest: list[Site], mapping: LoopMapping) -> str:
    """Gather form: an iteration has all that goes to an element. Scatter form: it adds to several, or others do too.

    Loops of the program that run together are still several: `nest` is looked at for what was one loop there.
    """
    lines = {line_of(s) for s in own}
    places = {
        in_one_name(s.stmt.target)
        for s in nest
        if isinstance(s.stmt, ir.Accumulate | ir.Assign) and s.stmt.target.array == array and line_of(s) in lines
    }
    if isinstance(mapping, TiledNest):
        return "gather form: summed in registers"
    for site in own:
        assert isinstance(site.stmt, ir.Accumulate)
        if any(lane_axis(site.stmt.target, i, NONE) is None for i in access_indices(site.stmt.target)):
            return "scatter form: the places are computed"
    shared = {p for p in places if any(is_apart(p, q) for q in places)}
    if shared:
        return f"scatter form: {len(shared)} places for each iteration"
    again = [
        p.index for s in own for p in s.loops if p.index not in access_indices(target_of(s)) and is_sum_over(p, array)
    ]
    if again:
        return f"scatter form: in each iteration of `{again[-1]}` again"
    return "gather form"


def line_of(site: Site) -> int:
    """The line of the innermost loop around a statement."""
    return site.loops[-1].loc.line if site.loops else 0


def is_apart(a: tuple[ir.Expr, ...], b: tuple[ir.Expr, ...]) -> bool:
    """Whether two places lie at different distances from the iteration that adds to both."""
    pairs = zip(a, b, strict=True)
    return any(x != y and has_index(x) and has_index(y) for x, y in pairs)


def has_index(expr: ir.Expr) -> bool:
    return any(isinstance(e, ir.Index) for e in subexprs(expr))


def is_sum_over(loop: ir.Loop, array: str) -> bool:
    """Whether nothing in `loop` needs the sums in `array`, or begins them anew, before all iterations have added."""
    stmts = all_statements(loop.body)
    if any(isinstance(s, ir.Assign) and s.target.array == array for s in stmts):
        return False
    return not any(e.access.array == array for s in stmts for e in loads_of(s))


def target_of(site: Site) -> ir.Access:
    assert isinstance(site.stmt, ir.Accumulate)
    return site.stmt.target


def in_one_name(target: ir.Access) -> tuple[ir.Expr, ...]:
    """Subscripts with the indices of loops that were one in the program under one name."""

    def renamed(e: ir.Expr) -> ir.Expr:
        return ir.Index(stem_of(e.name)) if isinstance(e, ir.Index) else e

    return tuple(map_expr(renamed, s) for s in target.subscripts)
