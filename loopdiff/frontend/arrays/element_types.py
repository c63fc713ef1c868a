"""What can be said of the types of elements before binding: whether they are booleans, and often all of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from loopdiff.frontend.binding.types import (
    CELL_DTYPE,
    STRONG,
    SUPPOSED,
    Inferred,
    Kind,
    Typing,
    join_kinds,
    kind_of_scalar,
)
from loopdiff.frontend.capture import ScalarArgument
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import COMPARISONS, FLOAT_TESTS, Op
from loopdiff.ir.types import BOOL, ELEMENT_TYPES, ArrayType
from loopdiff.ir.walk import all_statements, loads, stmt_exprs
from loopdiff.source.scopes import own_nodes

TRUTH_OPS = (*COMPARISONS, *FLOAT_TESTS, Op.AND, Op.OR, Op.NOT)
BITS = (Op.BITAND, Op.BITOR, Op.BITXOR, Op.INVERT)


def is_truth_value(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is a boolean, as far as the parser can see."""
    match expr:
        case ir.Const(value=value):
            return isinstance(value, bool)
        case ir.Apply(op=op, args=args):
            return op in TRUTH_OPS or (op in BITS and all(is_truth_value(state, a) for a in args))
        case ir.Select(then=then, orelse=orelse):
            return is_truth_value(state, then) and is_truth_value(state, orelse)
        case ir.Cast(dtype=dtype):
            return dtype is BOOL
        case ir.Load(access=access):
            return holds_truths(state, access)
        case _:
            return False


def holds_truths(state: State, access: ir.Access) -> bool:
    decl = state.arrays[access.array]
    if decl.role == "argument":
        kind = state.need_types()[access.array]
    elif decl.type is None and (decl.dtype_like or decl.like) is not None and access.array not in state.whole.truths:
        return holds_truths(state, ir.Access(decl.dtype_like or decl.like or ""))
    else:
        kind = decl.type
    return access.array in state.whole.truths or (isinstance(kind, ArrayType) and kind.element is BOOL)


# -- dtypes --------------------------------------------------------------------------------------------------
def dtype_of(state: State, array: str) -> str | None:
    """NumPy's name of the element type of `array`; None where nothing says that yet. Numbers whose types are not known
    yet are taken for Python's, which widen no array: what is `supposed` so is looked at when all is known."""
    decl = state.arrays[array]
    met: set[str] = {array}
    while decl.role != "argument" and decl.type is None:
        source = decl.dtype_like or decl.like
        if source is None or source in met:
            break
        met.add(source)
        decl = state.arrays[source]
    if decl.role == "argument":
        kind = state.need_types()[decl.name]
        return kind.dtype if isinstance(kind, ArrayType) else None
    if decl.type is not None:
        return decl.type.dtype
    found = inferred(state, decl.name)
    if found is None:
        return None
    dtype = CELL_DTYPE[found.kind.storage]
    if found.is_supposed:
        if not state.whole.decisions.supposes:
            return None
        state.whole.supposed[array] = dtype
    return dtype


def inferred(state: State, array: str) -> Inferred | None:
    """The kind of what `array` is made of; None if nothing says that yet. It is asked for whenever a statement makes
    one array of others, and is found again only where a declaration that it follows from has changed."""
    found = state.whole.dtypes.get(array)
    if found is None or not found.holds(state.arrays):
        origins = origins_of(state, (ir.Load(ir.Access(array)),))
        if origins is None:
            return None
        solved = [solution(state, origins, k).kinds for k in (SUPPOSED if origins.goes_by_cells else SUPPOSED[:1])]
        solved *= len(SUPPOSED) // len(solved)
        for name in {*origins.made, array}:  # what it is made of is asked for next, where that is made into something
            state.whole.dtypes[name] = Inferred(tuple(kinds[name] for kinds in solved), origins.decls)
        found = state.whole.dtypes[array]
    return found


def holds_halves(state: State, array: str) -> bool:
    """Whether elements of `array` are float16 or bfloat16: of an argument, or as is said, never because of values."""
    decl, met = state.arrays[array], {array}
    while decl.role != "argument" and decl.type is None:
        source = decl.dtype_like or decl.like
        if source is None or source in met:
            return False
        met.add(source)
        decl = state.arrays[source]
    kind = state.need_types()[decl.name] if decl.role == "argument" else decl.type
    return isinstance(kind, ArrayType) and kind.is_half


def kind_of(state: State, values: tuple[ir.Expr, ...], cells: Kind) -> Kind | None:
    """The least kind that holds `values` where numbers in cells are of the kind `cells`; None if nothing says what an
    array in them is made of."""
    origins = origins_of(state, values)
    if origins is None:
        return None
    typing = solution(state, origins, cells)
    return join_kinds(*(typing.typed(value)[1] for value in values))


@immutable
class Origins:
    """What the types of values follow from: the `kinds` of arrays that are known, or what was `inferred` of them, the
    `cells` in them, and what other arrays are `made` of, each mostly before what that is made of. `decls` are the
    declarations of all these."""

    kinds: Mapping[str, Kind]
    inferred: Mapping[str, Inferred]
    cells: tuple[str, ...]
    made: Mapping[str, tuple[ir.Expr, ...]]
    users: Mapping[str, Sequence[str]]  # which of `made` are made of an array
    decls: Mapping[str, ir.ArrayDecl]

    @property
    def goes_by_cells(self) -> bool:
        """Whether the types may depend on those of cells."""
        return bool(self.cells) or any(known.is_supposed for known in self.inferred.values())


def origins_of(state: State, values: tuple[ir.Expr, ...]) -> Origins | None:
    """What the types of `values` follow from; None if nothing says what an array in them is made of."""
    made: dict[str, tuple[ir.Expr, ...]] = {}
    kinds: dict[str, Kind] = {}
    inferred: dict[str, Inferred] = {}
    users: dict[str, list[str]] = {}
    cells: list[str] = []
    decls: dict[str, ir.ArrayDecl] = {}
    left = list(arrays_in(values))
    met = set(left)
    while left:
        name = left.pop()
        decl = decls[name] = state.arrays[name]
        known = state.whole.dtypes.get(name)
        if known is not None and known.holds(state.arrays):
            inferred[name] = known
            decls |= known.decls
        elif decl.role == "local" and decl.extents == ():
            cells.append(name)
        elif decl.type is not None or decl.role == "argument":
            dtype = dtype_of(state, name)
            if dtype is None:
                return None
            kinds[name] = STRONG[ELEMENT_TYPES[dtype]]
        else:
            source = decl.dtype_like or decl.like
            made[name] = decl.values if source is None else (ir.Load(ir.Access(source)),)
            if not made[name]:
                return None
            parts = arrays_in(made[name])
            for part in parts:
                users.setdefault(part, []).append(name)
            left += parts - met
            met |= parts
    return Origins(kinds, inferred, tuple(cells), made, users, decls)


def solution(state: State, origins: Origins, cells: Kind) -> Typing:
    """The least kinds of all in `origins` where numbers in cells are of the kind `cells`."""
    kinds = dict(origins.kinds) | {name: known.where(cells) for name, known in origins.inferred.items()}
    kinds |= dict.fromkeys(origins.cells, cells) | dict.fromkeys(origins.made, Kind.BOOL)
    typing, open_ones = typing_of(state, kinds), set(origins.made)
    while open_ones:
        for name, parts in reversed(tuple(origins.made.items())):
            if name in open_ones:
                open_ones.remove(name)
                kind = join_kinds(kinds[name], *(typing.typed(value)[1] for value in parts))
                if kind != kinds[name]:
                    kinds[name] = kind
                    open_ones.update(origins.users.get(name, ()))
    return typing


def kind_so_far(state: State, value: ir.Expr) -> Kind:
    """The kind of the number `value`, as far as what has been written of the program says: what loops around do with
    the cells in it later may widen it. Elements of unknown types count as float64."""
    values, kinds = stores_so_far(state), dict[str, Kind]()
    left = list(arrays_in((value,)))
    while left:
        name = left.pop()
        if state.arrays[name].role == "local" and state.arrays[name].extents == ():
            kinds[name] = state.whole.kinds.get(name, Kind.BOOL)
            parts = tuple(e for store in values.get(name, ()) for e in stmt_exprs(store))
            left += arrays_in(parts) - set(kinds) - set(left)
        else:
            kinds[name] = STRONG[ELEMENT_TYPES[dtype_of(state, name) or "float64"]]
    typing, before = typing_of(state, kinds), dict[str, Kind]()
    while kinds != before:
        before = dict(kinds)
        for name in set(kinds) & set(values):
            if state.arrays[name].extents == ():
                kinds[name] = join_kinds(kinds[name], *(stored_kind(typing, s) for s in values[name]))
    return typing.typed(value)[1]


def stores_so_far(state: State) -> dict[str, list[ir.Stmt]]:
    """What has been written of the program that stores in each array and cell."""
    found: dict[str, list[ir.Stmt]] = {}
    for block in (block for s in state.whole.active for block in (*s.opened, s.out)):
        for stmt in all_statements(tuple(block)):
            if isinstance(stmt, ir.Assign | ir.Accumulate):
                found.setdefault(stmt.target.array, []).append(stmt)
    return found


def may_widen(state: State, value: ir.Expr, is_added: bool = True) -> bool:
    """Whether the kind of `value` may be another one in later iterations of the loops around: it is computed of names
    that the program gives a value in several places; unless `is_added`, without those where something is added."""
    if not state.whole.around:
        return False
    cells = {cell: (s, name) for s in state.whole.active for name, cell in s.cells.items()}
    changed = {cell for cell, (s, name) in cells.items() if stores_of(s, name, is_added) != 1}
    stores, left, met = stores_so_far(state), list(arrays_in((value,))), set[str]()
    while left and not met & changed:
        met.add(name := left.pop())
        if state.arrays[name].extents == ():
            left += arrays_in(tuple(e for store in stores.get(name, ()) for e in stmt_exprs(store))) - met
    return bool(met & changed)


def stores_of(state: State, name: str, is_added: bool) -> int:
    """In how many places the function gives `name` a value."""
    added = [n.target for n in own_nodes(state.source.node) if isinstance(n, ast.AugAssign)] if not is_added else []
    count = state.survey.stores[name] + (name in state.survey.parameters)
    return count - sum(isinstance(target, ast.Name) and target.id == name for target in added)


def stored_kind(typing: Typing, store: ir.Stmt) -> Kind:
    assert isinstance(store, ir.Assign | ir.Accumulate)
    kind = typing.typed(store.value)[1]
    return join_kinds(kind, Kind.INT) if isinstance(store, ir.Accumulate) else kind


def typing_of(state: State, kinds: dict[str, Kind]) -> Typing:
    """Kinds of expressions of arguments, arrays without axes among them, and of cells and arrays of these `kinds`."""
    types = state.need_types()
    params = {n: kind_of_scalar(t) for n, t in types.items() if isinstance(t, ScalarArgument)}
    numbers = {n: t for n, t in types.items() if isinstance(t, ArrayType) and not t.rank}
    kinds.update((n, STRONG[t.element]) for n, t in numbers.items())
    ranks = {n: state.rank(n) for n in kinds if n in state.arrays} | dict.fromkeys(numbers, 0)
    return Typing(kinds, ranks, params, goes_inside=False)


def arrays_in(values: tuple[ir.Expr, ...]) -> set[str]:
    return {load.access.array for value in values for load in loads(value)}


def is_widened(state: State, array: str, value: ir.Expr) -> bool:
    """Whether `value` is certainly of a wider sort than elements of `array`: a float beside integers, a number beside
    booleans. NumPy converts within a sort only where it works in place."""
    dtype = dtype_of(state, array)
    kind = kind_of(state, (value,), Kind.BOOL)
    if dtype is None or kind is None:
        return False
    return sort_of(kind) > sort_of(STRONG[ELEMENT_TYPES[dtype]])


def sort_of(kind: Kind) -> Kind:
    """The least kind of the same sort: booleans, integers, floats, complex numbers."""
    return Kind.WEAK_COMPLEX if kind.is_complex else min(kind, Kind.WEAK)
