"""Axes along which a function may be split: parts that run the loops for elements of their own, apart from each other.

    for i in range(x.shape[0]):         x, y: each part has some of the rows
        for j in range(w.shape[0]):     w: all parts have all of it
            y[i] += x[i, j] * w[j]
        total += y[i] * y[i]            total: summed when all parts have ended

So it is along an axis where all loops over it go through all of it, in any order but for sums, and ask for elements at
the index alone, which decides nothing else; and where nobody looks at sums before the end but what is linear in them.
The number of elements is that of the whole wherever it is a number among others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.privatization import find_privates, span
from loopdiff.analysis.shared_reductions import lost_values, shared_sums
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, is_unit_step, is_zero, zeroed
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import (
    Site,
    all_statements,
    exits,
    loads,
    operands,
    result_arrays,
    statements,
    stmt_exprs,
    subexprs,
    touched_arrays,
    without_children,
    written_arrays,
)

Axis = tuple[str, int]  # array and number
Node = Axis | str  # or the index of a loop
Names = frozenset[str]
ValueOf = Callable[[ir.Expr], int | None]  # of an integer expression, where it is known


@immutable
class SplitAxis:
    """The axes that are `apart`, all of so many elements, and the `loops` over them, by their indices.

    Arrays and cells that are `sums` are to be summed over the parts, and so are the numbers among the results at the
    places `results`. `length` is an axis of an argument.
    """

    apart: frozenset[Axis]
    loops: Names
    extent: int
    length: Axis
    sums: Names
    results: frozenset[int]


def find_split_axes(
    ls: ir.LoopSet, value_of: ValueOf, given: Names, unseen: Names
) -> tuple[SplitAxis, ...]:  # fmt: skip
    """The ways to split the normal `ls`, each by itself or several at once.

    `value_of` knows extents. Parameters that are not `given` hold nothing before, or zeros, and nobody looks at those
    that are `unseen` afterwards.
    """
    links = links_of(ls)
    families = [f for f in links.families() if f.isdisjoint(links.mixed)]
    found: list[SplitAxis] = []
    if families:
        search = Search(ls, build_model(ls), links.bounds, value_of, given, unseen)
        found += [axis for f in families if (axis := search.split(f)) is not None]
    for node in axes_of_shapes(ls):
        place_untouched(ls, found, node, value_of(ir.Dim(*node)))
    return tuple(found)


def place_untouched(ls: ir.LoopSet, found: list[SplitAxis], node: Axis, extent: int | None) -> None:
    """Let an axis that may be split anyhow go with one that has its length, or as many elements; else by itself."""
    array, _ = node
    fitting = [a for a in found if a.extent == extent and all(array != other for other, _ in a.apart)]
    fitting.sort(key=lambda a: ir.Dim(*node) not in lengths_of(ls, a))
    if fitting:
        found[found.index(fitting[0])] = replace(fitting[0], apart=fitting[0].apart | {node})
    elif extent is not None:
        found.append(SplitAxis(frozenset((node,)), frozenset(), extent, node, frozenset(), frozenset()))


def lengths_of(ls: ir.LoopSet, axis: SplitAxis) -> set[ir.Expr]:
    """What says how long loops over `axis` and local arrays are."""
    loops = (s for s in all_statements(ls.body) if isinstance(s, ir.Loop) and s.index in axis.loops)
    return {span(loop)[1] for loop in loops} | {extents_of(ls.array(a))[k] for a, k in axis.apart}


def axes_of_shapes(ls: ir.LoopSet) -> list[Axis]:
    """The axes of arguments whose elements nobody touches: their shapes alone are asked for."""
    untouched = frozenset(ls.params) - touched_arrays(ls.body) - result_arrays(ls)
    decls = (a for a in ls.arrays if a.name in untouched and a.type is not None and a.extents is None)
    return [(a.name, k) for a in decls for k in range(len(extents_of(a)))]


# -- which axes and loops belong together --------------------------------------------------------------------
def links_of(ls: ir.LoopSet) -> Links:
    """What the subscripts of `ls` say of axes and loops."""
    links = Links({a.name: a.type.rank for a in ls.arrays if a.type is not None})
    for stmt in all_statements(ls.body):
        match stmt:
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                links.access(target)
                links.expr(value)
            case _:
                for expr in stmt_exprs(stmt):
                    links.expr(expr)
                for access in stmt.results if isinstance(stmt, ir.Call) else ():
                    links.access(access)
    extents = [e for a in ls.arrays for e in a.extents or ()]
    for expr in (*extents, *(r.value for r in ls.results if isinstance(r, ir.ScalarResult))):
        links.expr(expr)
    return links


@dataclass(slots=True)
class Links:
    """`near`: what has to do with what; `mixed`: axes whose subscripts are something else, and indices that are more
    than a subscript, or compared with `bounds`, which may say nothing: whether they are at least, or below, something.
    """

    ranks: Mapping[str, int]
    near: dict[Node, set[Node]] = field(default_factory=dict)
    mixed: set[Node] = field(default_factory=set)
    bounds: dict[str, list[tuple[Op, ir.Expr]]] = field(default_factory=dict)

    def expr(self, expr: ir.Expr) -> None:
        match expr:
            case ir.Index(name=name):
                self.mixed.add(name)
            case ir.Load(access=access):
                self.access(access)
            case ir.Apply(op=Op.GE | Op.LT as op, args=(ir.Index(name=name), bound)):
                self.bounds.setdefault(name, []).append((op, bound))
                self.expr(bound)
            case _:
                for part in operands(expr):
                    self.expr(part)

    def access(self, access: ir.Access) -> None:
        for axis in range(self.ranks[access.array]):
            node = access.array, axis
            subscript = access.subscripts[axis] if axis < len(access.subscripts) else None
            if isinstance(subscript, ir.Index):
                self.near.setdefault(node, set()).add(subscript.name)
                self.near.setdefault(subscript.name, set()).add(node)
                continue
            self.mixed.add(node)
            if subscript is not None:
                self.expr(subscript)

    def families(self) -> Iterator[frozenset[Node]]:
        left = dict.fromkeys(self.near)
        while left:
            found, ahead = set[Node](), [next(iter(left))]
            while ahead:
                node = ahead.pop()
                if node not in found:
                    found.add(node)
                    left.pop(node)
                    ahead.extend(self.near[node])
            yield frozenset(found)


# -- whether parts are independent ---------------------------------------------------------------------------
@immutable
class Search:
    ls: ir.LoopSet
    model: Model
    bounds: Mapping[str, Sequence[tuple[Op, ir.Expr]]]
    value_of: ValueOf
    given: Names
    unseen: Names

    def split(self, family: frozenset[Node]) -> SplitAxis | None:
        apart = frozenset(n for n in family if not isinstance(n, str))
        sites = [s for s in statements(self.ls.body) if isinstance(s.stmt, ir.Loop) and s.stmt.index in family]
        loops = frozenset(n for n in family if isinstance(n, str))
        extent, length = self.extent(apart), self.length(apart)
        if extent is None or length is None or not all(self.is_over(s, extent, loops) for s in sites):
            return None
        if len({array for array, _ in apart}) < len(apart):  # the parts would have diagonal blocks alone
            return None
        arrays, sums = frozenset(a for a, _ in apart), set[str]()
        for site in sites:
            found = self.sums(site, arrays)
            if found is None:
                return None
            sums |= found
        partial = find_partial(self.ls, frozenset(sums), loops)
        if partial is None or not partial.arrays.isdisjoint(arrays) or not partial.arrays.isdisjoint(self.given):
            return None
        return SplitAxis(apart, loops, extent, length, partial.arrays, partial.results)

    def extent(self, apart: Collection[Axis]) -> int | None:
        """That of all the axes; None where they differ or it is not known."""
        (first, *others) = {self.value_of(extents_of(self.ls.array(a))[k]) for a, k in apart}
        return None if others else first

    def length(self, apart: Collection[Axis]) -> Axis | None:
        """An axis of an argument, of whose shape its parts know."""
        known = [(a, k) for a, k in apart if a in self.ls.params and self.ls.array(a).extents is None]
        return min(known, default=None)

    def is_over(self, site: Site, extent: int, loops: Names) -> bool:
        """Whether a loop goes through all of the axis, once."""
        loop = site.stmt
        assert isinstance(loop, ir.Loop)
        if not is_unit_step(loop) or exits(loop) or any(o.index in loops for o in site.loops):
            return False
        low, high = map(self.value_of, span(loop))
        return (
            low == 0 and high == extent and all(self.says_nothing(b, extent) for b in self.bounds.get(loop.index, ()))
        )

    def says_nothing(self, bound: tuple[Op, ir.Expr], extent: int) -> bool:
        """Whether a comparison holds for all places along the axis, and so for all in a part."""
        op, value = bound[0], self.value_of(bound[1])
        return value is not None and (value <= 0 if op is Op.GE else value >= extent)

    def sums(self, site: Site, arrays: Names) -> Names | None:
        """What iterations add to together, if they have no more to do with each other, as they have not in `arrays`,
        which none makes anew."""
        loop, path = site.stmt, site.path
        assert isinstance(loop, ir.Loop)
        if any(isinstance(s, ir.Allocate) and s.array in arrays for s in all_statements(loop.body)):
            return None
        own = {a.name for a in self.ls.arrays if a.name not in self.ls.params} | self.unseen
        privates = find_privates(self.model, frozenset(own), loop, path, arrays)
        if privates is None:
            return None
        sums = shared_sums(self.model, path, privates.names | arrays)
        if lost_values(loop, privates.names | arrays, sums, lambda a: not a.subscripts, self.is_number):
            return None
        return frozenset(sums) if set(sums.values()) <= {"add"} else None

    def is_number(self, name: str) -> bool:
        kind = self.ls.array(name).type
        return kind is not None and kind.element is not BOOL


@dataclass(slots=True)
class Partial:
    """What is the sum of its values in all parts: arrays and cells, Lets, and results by their places."""

    arrays: Names
    lets: Names = frozenset()
    results: frozenset[int] = frozenset()

    def is_concerned(self, expr: ir.Expr) -> bool:
        """Whether a value has to do with sums."""
        is_read = any(load.access.array in self.arrays for load in loads(expr))
        return is_read or any(isinstance(e, ir.Var) and e.name in self.lets for e in subexprs(expr))

    def is_whole(self, expr: ir.Expr) -> bool:
        return not self.is_concerned(expr)

    def is_linear(self, expr: ir.Expr) -> bool:
        """Whether the value is the sum of its values in all parts."""
        match expr:
            case ir.Load(access=access):
                return access.array in self.arrays and all(map(self.is_whole, access.subscripts))
            case ir.Var(name=name):
                return name in self.lets
            case ir.Apply(op=Op.NEG, args=(value,)):
                return self.is_linear(value)
            case ir.Apply(op=Op.ADD | Op.SUB, args=(left, right)):
                return self.is_linear(left) and self.is_linear(right)
            case ir.Apply(op=Op.MUL | Op.STRONG_MUL, args=(left, right)) if self.is_whole(left):
                return self.is_linear(right)
            case ir.Apply(op=Op.MUL | Op.STRONG_MUL | Op.DIV, args=(left, right)):
                return self.is_linear(left) and self.is_whole(right)
            case ir.Cast(dtype=dtype, value=value):
                return dtype.is_float and self.is_linear(value)
            case _:
                return is_zero(expr)


def find_partial(ls: ir.LoopSet, sums: Names, loops: Names) -> Partial | None:
    """What follows from `sums`, which `loops` over the axis add to; None where that is not linear in them."""
    found, before = Partial(sums), None
    sites = list(statements(ls.body))
    while found != before:
        before, found = found, replace(found)
        for site in sites:
            if not take_in(found, site, any(o.index in loops for o in site.loops)):
                return None
    for place, result in enumerate(ls.results):
        if isinstance(result, ir.ScalarResult) and found.is_concerned(result.value):
            if not found.is_linear(result.value):
                return None
            found.results |= {place}
    return found


def take_in(found: Partial, site: Site, is_apart: bool) -> bool:
    """Add to `found` what a statement makes of sums. Whether it may stand in each part, as one that `is_apart`, a part
    of a loop over the axis, or as one that all parts run."""
    stmt = site.stmt
    is_concerned = any(map(found.is_concerned, stmt_exprs(stmt)))
    written = written_arrays((without_children(stmt),))
    if is_apart or not (is_concerned or written & found.arrays):
        return not is_concerned
    match stmt:
        case ir.Let(name=name, value=value) if found.is_linear(value):
            found.lets |= {name}
        case ir.Assign(target=target, value=value) | ir.Accumulate(op="add", target=target, value=value) if (
            found.is_linear(value) and all(map(found.is_whole, target.subscripts))
        ):
            found.arrays |= written
        case _:
            return zeroed(stmt) is not None or (isinstance(stmt, ir.Allocate) and stmt.fill is None)
    return True
