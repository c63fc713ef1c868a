"""Lists and tuples of which only the run says which element is meant, as `w[k % 3]` and `zip(w, x)`: they are left to
the parser, which keeps them in arrays. What holds them may be a part of something, and their elements tuples and
records: then there is a list for each place in these, as `[d.time for d in p.doses]`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from loopdiff.frontend.structures.iterators import changed_in
from loopdiff.frontend.structures.rewriting import base_of, copied, display_of, expression, rebuilt, refuse_shared
from loopdiff.frontend.structures.scope import PLAIN, ColumnLists, Local, Scope, name_read, name_stored, stored_names
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Path,
    Rank,
    Tree,
    holds_structures,
    is_sequence,
    leaves,
    merged,
    shared,
    with_leaves,
)
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import own_names

HARMLESS = (len, float, int, abs, range, slice, np.zeros, np.ones, np.empty, np.full, np.eye, np.arange, np.linspace)
READING = ("len", "sum", "min", "max", "any", "all", "zip", "enumerate", "range", "reversed", "sorted", "print")


def reject_open(scope: Scope, of: ast.expr, message: str, node: ast.AST, hint: str) -> Leaf:
    """Reject what only the run says of the list `of`. Where that is a name, or a part of what a name holds, the list is
    left to the parser when the function is taken apart again."""
    count, root = len(scope.diagnostics), of
    while isinstance(root, ast.Subscript):
        root = root.value
    found = scope.reject(message, node, hint)
    tree = base_of(scope, root) if isinstance(root, ast.Name) and len(scope.diagnostics) > count else None
    has_rows = isinstance(tree, Branch) and any(isinstance(item, Branch) for item in tree.items)
    if isinstance(root, ast.Name) and tree is not None and may_be_one_array(tree):
        scope.growing.leaves_rows |= has_rows
        if not (scope.growing.by_columns and has_rows):
            scope.growing.said[scope.diagnostics[-1]] = {(owner_of(scope, root.id), root.id)}
    if len(scope.diagnostics) > count:
        scope.growing.open_places.add(scope.diagnostics[-1])
    return found


def may_be_one_array(tree: Tree) -> bool:
    """Whether `tree` is a list or tuple of numbers and arrays, or of such lists and tuples of one length."""
    if not isinstance(tree, Branch) or tree.kind not in ("list", "tuple") or not tree.items:
        return False
    if all(isinstance(item, Leaf) and not isinstance(item.known, Local) for item in tree.items):
        return True
    rows = [item for item in tree.items if isinstance(item, Branch) and may_be_one_array(item)]
    return len(rows) == len(tree.items) and len({len(row.items) for row in rows}) == 1


def element_of_copy(scope: Scope, tree: Branch, index: ast.expr, node: ast.Subscript) -> Leaf | None:
    """The element of `tree`, a part of something, by a list that is made before the statement; None if that may not be,
    or others may have the elements, too."""
    if isinstance(node.value, ast.Name) or not scope.may_run_ahead or isinstance(index, ast.Slice):
        return None
    if not may_be_one_array(tree) or any(isinstance(item, Branch) for item in tree.items):
        return None
    name = scope.names.fresh("row")
    write_list(scope, name, as_list(scope, tree, node), node)
    return Leaf(copied(node, value=name_read(name, node), slice=expression(scope, index)))


def element_by_columns(scope: Scope, base: Branch, index: ast.expr, node: ast.Subscript) -> Tree | None:
    """`base[index]` by a list for each place in the items of `base`, which have all one form; None where such lists
    would not hold what the items do when they are read, or where that was not asked for."""
    if not scope.growing.by_columns or isinstance(index, ast.Slice) or not is_sequence(base) or not base.items:
        return None
    row: Tree | None = base.items[0]
    for item in base.items[1:]:
        row = None if row is None else merged(row, item)
    if row is None or (isinstance(row, Branch) and not is_repeatable(scope, index) and not scope.may_run_ahead):
        return None
    items = [dict(leaves(item)) for item in base.items]
    columns = {path: [item[path].expr for item in items] for path, _ in leaves(row)}
    place = place_of_columns(scope, [e for column in columns.values() for e in column], node)
    if place is None:
        return None
    key = held_index(scope, index, node) if isinstance(row, Branch) else expression(scope, index)

    def chosen(path: Path, leaf: Leaf) -> Leaf:
        if isinstance(leaf.known, Local):
            return leaf
        made = name_read(column_at(scope, place, columns[path], node), node)
        known = leaf.known if isinstance(leaf.known, Rank) else MISSING
        return Leaf(ast.copy_location(ast.Subscript(made, key, ast.Load()), node), known)

    return shared(with_leaves(row, chosen))


def is_repeatable(scope: Scope, index: ast.expr) -> bool:
    """Whether computing `index` several times is as good as once."""
    parts = list(syntax_nodes(index))
    called = [scope.value_outside(n.func) for n in parts if isinstance(n, ast.Call)]
    is_plain = all(any(f is own for own in (len, int, abs, min, max)) for f in called)
    return is_plain and not any(isinstance(n, ast.NamedExpr | ast.Lambda | ast.comprehension) for n in parts)


def held_index(scope: Scope, index: ast.expr, node: ast.AST) -> ast.expr:
    """`index`, by a name unless it may be computed several times."""
    if is_repeatable(scope, index):
        return expression(scope, index)
    name = scope.names.fresh("place")
    scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], expression(scope, index)), node))
    scope.hold(name, PLAIN, node)
    return name_read(name, node)


def place_of_columns(scope: Scope, values: Sequence[ast.expr], node: ast.Subscript) -> ColumnLists | None:
    """Where lists of `values` are made: at the start of the function, if they are what this is given and it gives their
    names nothing else; ahead of the statement, or of the loop whose condition reads them; None where neither may be."""
    names = {v.id for v in values if isinstance(v, ast.Name)}
    is_simple, at_start = all(isinstance(v, ast.Name | ast.Constant) for v in values), scope.at_start
    is_kept = not any((scope.source.name, name) in scope.growing.rebound or name in scope.bound for name in names)
    if is_simple and is_kept and at_start is not None and names <= at_start.names:
        return at_start
    root: ast.expr = node
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    is_seen = isinstance(root, ast.Name) and root.id not in scope.bound
    if is_simple and is_seen and scope.before_loop is not None:
        return scope.before_loop
    return ColumnLists(scope.out) if scope.may_run_ahead or (is_simple and is_seen) else None


def column_at(scope: Scope, place: ColumnLists, values: Sequence[ast.expr], node: ast.Subscript) -> str:
    """The name of the list of `values`, which is left out again if nothing reads it."""
    key = tuple(map(ast.unparse, values))
    if key not in place.made:
        place.made[key] = name = scope.names.fresh("column")
        row = ast.copy_location(ast.List(list(values), ast.Load()), node)
        made = ast.copy_location(ast.Assign([name_stored(name, node)], row), node)
        place.out.append(made)
        scope.fills[id(made)] = made, name
        scope.texts[name] = ast.unparse(node.value)
        scope.hold(name, PLAIN, node)
    return place.made[key]


@contextmanager
def columns_before_loop(scope: Scope, body: Sequence[ast.stmt], node: ast.While) -> Iterator[None]:
    """Inside, lists that the condition of a loop reads are made ahead of the loop. What they hold is the same in all
    iterations, or the program is rejected."""
    scope.before_loop, before = ColumnLists([]), scope.before_loop
    yield
    made, scope.before_loop = scope.before_loop, before
    if stored_names(body) & {name for key in made.made for name in key}:
        hint = "give the item a name in the loop"
        scope.reject("which item the condition of a loop reads is not known, and the loop changes it", node.test, hint)
    scope.out += made.out


def owner_of(scope: Scope, name: str) -> str:
    """The function whose name `name` is, or the outermost around, for names from outside."""
    while scope.around is not None and name not in own_names(scope.source.node):
        scope = scope.around
    return scope.source.name


def leave_to_parser(scope: Scope, target: ast.Name, value: ast.expr, node: ast.stmt) -> bool:
    """Write `target = value` as a list of the parser's; False if nobody else may tell the elements from copies."""
    if isinstance(value, ast.List):
        refuse_shared(scope, value.elts)
        made = rebuilt(scope, value)
    elif isinstance(value, ast.Tuple | ast.ListComp):
        tree = scope.tree_of(value)
        if not isinstance(tree, Branch) or not may_be_one_array(tree) or any(map(holds_structures, tree.items)):
            return False
        made = as_list(scope, tree, value)
    else:
        return False
    write_list(scope, target.id, made, node)
    return True


def lists_apart(scope: Scope, targets: list[ast.expr], values: list[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    """`a, b = [], e` as two assignments, the lists of the parser first; nothing if there are none, or if values read
    what the statement assigns, or may change it."""
    pairs = list(zip(targets, values, strict=False))
    own = [(t, v) for t, v in pairs if isinstance(t, ast.Name) and scope.is_plain(t.id)]
    others = [pair for pair in pairs if pair not in own]
    parts = [n for v in values for n in syntax_nodes(v)]
    read = {n.id for n in parts if isinstance(n, ast.Name)}
    is_settled = read.isdisjoint(stored_names(targets)) and not any(may_change(scope, n) for n in parts)
    are_lists = all(isinstance(v, ast.List | ast.Tuple) for _, v in own)
    if not own or not are_lists or len(targets) != len(values):
        return []
    is_first_read = not read.isdisjoint(t.id for t, _ in own if isinstance(t, ast.Name))
    if is_first_read or (not is_settled and any(v.elts for _, v in own if isinstance(v, ast.List | ast.Tuple))):
        return []
    rest = [(ast.Tuple([t for t, _ in others], ast.Store()), ast.Tuple([v for _, v in others], ast.Load()))]
    return [*own, *((ast.copy_location(t, targets[0]), ast.copy_location(v, values[0])) for t, v in rest if others)]


def may_change(scope: Scope, node: ast.AST) -> bool:
    """Whether `node` may change something: a call of a function that is not known to change nothing."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.NamedExpr)
    return not any(scope.value_outside(node.func) is known for known in HARMLESS)


def as_list(scope: Scope, tree: Branch, node: ast.AST) -> ast.List:
    return ast.copy_location(ast.List([display_of(scope, item, node) for item in tree.items], ast.Load()), node)


def write_list(scope: Scope, name: str, made: ast.expr, node: ast.AST) -> None:
    scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], made), node))
    scope.hold(name, PLAIN, node)


def keep_given_lists(scope: Scope, node: ast.FunctionDef) -> None:
    """Lists of the parser's at the start of the function `node`, of what it is given and of what it finds outside."""
    for of, name in sorted(key for key in scope.growing.plain if len(key) == 2):
        read = next(reads_of(node, name), None) if of == scope.source.name else None
        is_outside = read is not None and scope.around is None and scope.value_outside(read) is not MISSING
        if read is None or not (is_outside or name in scope.source.signature.parameters):
            continue
        tree = base_of(scope, read)
        if not isinstance(tree, Branch) or not may_be_one_array(tree) or any(map(holds_structures, tree.items)):
            continue
        if tree.kind == "tuple" or is_only_read(node, read):
            write_list(scope, name, as_list(scope, tree, read), node.body[0])


def reads_of(node: ast.AST, name: str) -> Iterator[ast.Name]:
    return (n for n in syntax_nodes(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))


def is_only_read(node: ast.FunctionDef, name: ast.Name) -> bool:
    """Whether the function takes elements of the list `name`, and does nothing else with it."""
    reading = {id(part) for n in syntax_nodes(node) for part in only_read_by(n)}
    return name.id not in changed_in(node.body) and all(id(n) in reading for n in reads_of(node, name.id))


def only_read_by(node: ast.AST) -> Sequence[ast.expr]:
    """The expressions that `node` takes elements of."""
    match node:
        case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
            return [value]
        case ast.For(iter=over) | ast.comprehension(iter=over):
            return [over]
        case ast.Call(func=ast.Name(id=function), args=args) if function in READING:
            return args
        case _:
            return []


def with_named_rows(scope: Scope, node: ast.For) -> ast.For:
    """The loop with names for lists and tuples that are written out where it goes through them beside arrays."""
    match node.iter:
        case ast.Call(func=ast.Name(id="zip") as function, args=args) as over:
            is_zip = scope.value_outside(function) is builtins.zip
        case _:
            return node
    written = [a for a in args if isinstance(a, ast.List | ast.Tuple)]
    if not is_zip or not written or len(written) == len(args) or all(base_of(scope, a) is not None for a in args):
        return node

    def named(arg: ast.expr) -> ast.expr:
        tree = scope.tree_of(arg) if arg in written else None
        if not isinstance(tree, Branch) or not may_be_one_array(tree) or any(map(holds_structures, tree.items)):
            return arg
        name = scope.names.fresh("row")
        write_list(scope, name, as_list(scope, tree, arg), arg)
        return name_read(name, arg)

    return copied(node, iter=copied(over, args=list(map(named, args))))
