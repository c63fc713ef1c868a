"""What loops and comprehensions go over, where that is known: each item is written out."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum, EnumType
from functools import partial
from typing import Any

from loopdiff.frontend.classes import is_record_class
from loopdiff.frontend.structures.effects import require_settled
from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.objects.ranges import kept_value
from loopdiff.frontend.structures.plain import may_be_one_array, reject_open
from loopdiff.frontend.structures.rewriting import (
    base_of,
    element,
    expression,
    free_names,
    hand_out,
    steadied,
    where_held,
)
from loopdiff.frontend.structures.scope import (
    FEW_ITEMS,
    MOST_ITEMS,
    PLAIN,
    Names,
    Scope,
    name_read,
    name_stored,
    stored_names,
)
from loopdiff.frontend.structures.trees import Branch, Leaf, Static, Tree, described, dictionary_of, in_row, is_sequence
from loopdiff.source.functions import MISSING
from loopdiff.source.nodes import in_place_of, syntax_nodes

SHORTER = "goes through arrays that are shorter than the lists beside them"


def items_of(scope: Scope, node: ast.expr) -> list[Tree] | None:
    """What a loop over `node` meets, where that is known; None for arrays, and ranges, which are loops."""
    items = items_of_call(scope, node) if isinstance(node, ast.Call) else None
    kind = scope.value_outside(node)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [Static(member) for member in kind]
    if items is None and (tree := base_of(scope, node)) is not None:
        items = items_of_tree(scope, tree, node)
    if items is None:
        items = members_of(scope, node)
    if items is not None:
        hand_out(scope, items, node)
    return items


def items_of_tree(scope: Scope, tree: Tree, node: ast.expr) -> list[Tree] | None:
    match tree:
        case Branch(kind="dict", keys=keys):
            require_order(scope, tree, node)
            require_settled(scope, [tree], node)
            return [known_leaf(key, node) for key in keys]
        case Branch(items=items) if is_sequence(tree):
            return list(items)
        case Branch() if tree.type is range:
            return None
        case Branch():
            scope.reject(f"`{ast.unparse(node)}` is {described(tree)}, which has no elements", node)
            return []
        case _:
            return None


def members_of(scope: Scope, node: ast.expr) -> list[Tree] | None:
    """The members of an enumeration; None for anything else."""
    found = scope.value_outside(node)
    return [Static(member) for member in found] if isinstance(found, EnumType) else None


def require_order(scope: Scope, tree: Branch, node: ast.AST) -> None:
    if not tree.is_ordered:
        hint = "write its keys in the same order everywhere"
        scope.reject(f"`{ast.unparse(node)}` is a dictionary that was filled in one order or another", node, hint)


def items_of_call(scope: Scope, node: ast.Call) -> list[Tree] | None:
    """Those of `zip`, `enumerate`, `reversed` and the like."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr="items" | "keys" | "values" as view), args=[]):
            tree = base_of(scope, base)
            if not isinstance(tree, Branch) or tree.kind != "dict":
                return None
            require_order(scope, tree, node)
            require_settled(scope, [tree], node)
            keys: list[Tree] = [known_leaf(key, node) for key in tree.keys]
            pairs: list[Tree] = [in_row("tuple", pair) for pair in zip(keys, tree.items, strict=True)]
            return {"keys": keys, "values": list(tree.items), "items": pairs}[view]
        case ast.Call(args=args) if args:
            function = scope.value_outside(node.func)
        case _:
            return None
    if not any(function is f for f in (zip, enumerate, reversed, sorted)):
        return None
    if function is reversed and is_one_way(scope, args[0]):
        text = ast.unparse(args[0])
        scope.reject(f"`{text}` is not reversible", node, f"make a list of it first: `list({text})`")
        return []
    whole = set_written(scope, args[0]) if function is sorted else None
    rows = rows_behind(scope, args if function is zip else args[:1], node) if whole is None else [whole]
    if not rows:
        return None if rows is None else []
    require_settled(scope, (item for items in rows for item in items), node)
    if function is sorted:
        return in_order(rows[0]) if len(args) == 1 and not node.keywords else None
    if function is reversed:
        return rows[0][::-1]
    if function is enumerate:
        given = [*args[1:], *(k.value for k in node.keywords)]
        start = static(scope, given[0]) if given else 0
        if type(start) is not int:
            return None
        return [in_row("tuple", (number(k, node), item)) for k, item in enumerate(rows[0], start)]
    return [in_row("tuple", row) for row in zip(*rows, strict=False)]


def rows_behind(scope: Scope, args: Sequence[ast.expr], node: ast.Call) -> list[list[Tree]] | None:
    """What each of `args` of `node` goes through; None for arrays alone, none after a rejection."""
    pairs = [(a, items) for a in args for items in items_behind(scope, a)]
    found = [items for _, items in pairs]
    lists = [items for items in found if items is not None]
    if not lists:
        return None
    if len(lists) < len(found) and not all(may_be_one_array(in_row("list", tuple(items))) for items in lists):
        count = min(map(len, lists))
        found = [elements_beside(scope, a, count, node) if items is None else items for a, items in pairs]
    if any(items is None for items in found):
        texts = [f"`{ast.unparse(a)}`" for (a, _), items in zip(pairs, found, strict=True) if items is None]
        of = next(a for a, items in pairs if items is not None)
        message = f"`{ast.unparse(node)}` goes through {', '.join(dict.fromkeys(texts))} beside lists"
        reject_open(scope, of, message, node, "pass the rows as a list")
        return []
    return [items for items in found if items is not None]


def elements_beside(scope: Scope, node: ast.expr, count: int, over: ast.expr) -> list[Tree] | None:
    """As many elements of an array as there are items in the lists that `zip` goes through beside it, after an
    assertion that they are there; or numbers of a range. None where they cannot be named ahead."""
    if (numbers := known_range(scope, node)) is not None:
        return numbers
    runs = any(isinstance(n, ast.Call | ast.NamedExpr | ast.Starred) for n in syntax_nodes(node))
    if runs or not scope.may_run_ahead or isinstance(base_of(scope, node), Branch):
        return None
    name, message = scope.names.fresh("whole"), f"`{ast.unparse(over)}` {SHORTER}"
    scope.out.append(ast.copy_location(ast.Assign([name_stored(name, node)], expression(scope, node)), node))
    scope.hold(name, PLAIN, node)
    asked = ast.Compare(ast.parse(f"{name}.shape[0]", mode="eval").body, [ast.GtE()], [ast.Constant(count)])
    scope.out.append(in_place_of(ast.Assert(asked, ast.Constant(message)), node))
    parts = (ast.Subscript(name_read(name, node), ast.Constant(k), ast.Load()) for k in range(count))
    return [Leaf(in_place_of(part, node)) for part in parts]


def is_one_way(scope: Scope, node: ast.expr) -> bool:
    """Whether `node` is an iterator, which has no end to begin from."""
    return is_call_of(scope, node, zip, enumerate, reversed)


def is_call_of(scope: Scope, node: ast.expr, *functions: object) -> bool:
    is_called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    function = scope.value_outside(node.func) if is_called else None  # type: ignore[attr-defined]
    return any(function is f for f in functions)


def lengths_behind(scope: Scope, node: ast.expr) -> dict[str, int]:
    """How many items the lists and dictionaries have that a loop over `node` goes over, by what they are called."""
    if is_call_of(scope, node, zip, enumerate, reversed):
        found: dict[str, int] = {}
        for part in node.args:  # type: ignore[attr-defined]
            found |= lengths_behind(scope, part)
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # `d.items()`
        node = node.func.value
    with scope.in_place():
        tree = base_of(scope, node) if isinstance(node, ast.Name | ast.Subscript | ast.Attribute) else None
    return {ast.unparse(node): len(tree.items)} if isinstance(tree, Branch) else {}


def items_behind(scope: Scope, node: ast.expr) -> list[list[Tree] | None]:
    """What `node` goes through, an argument of `zip` and the like; of `*rows`, what each of the rows does."""
    if not isinstance(node, ast.Starred):
        return [items_of(scope, node)]
    rows = items_of(scope, node.value)
    return [None] if rows is None else [items_of_tree(scope, row, node) for row in rows]


def set_written(scope: Scope, node: ast.expr) -> list[Tree] | None:
    """The items of `set(rows)`, of tuples that are known, each once; None for others."""
    match node:
        case ast.Call(func=func, args=[rows], keywords=[]) if scope.value_outside(func) is set:
            items = items_of(scope, rows)
        case _:
            return None
    if not items or not all(isinstance(item, Branch) for item in items):
        return None
    values = list(map(known_value, items))
    return None if MISSING in values else list(dict(zip(values[::-1], items[::-1], strict=True)).values())


def known_value(tree: Tree) -> Any:
    """The integer, the text or the tuple of such that `tree` is; MISSING where it is not known."""
    match tree:
        case Leaf(known=int() as value) | Static(value=str() as value):
            return value
        case Branch(type=kind, items=items) if kind is tuple:
            found = tuple(map(known_value, items))
            return MISSING if MISSING in found else found
        case _:
            return MISSING


def in_order(items: list[Tree]) -> list[Tree] | None:
    """Texts that are known, tuples that are, or tuples that begin with different texts, sorted; None for others."""
    first = [item.items[0] if isinstance(item, Branch) and is_sequence(item) and item.items else item for item in items]
    texts = [tree.value for tree in first if isinstance(tree, Static) and isinstance(tree.value, str)]
    if len(texts) == len(items) and len(set(texts)) == len(texts):
        found = dict(zip(texts, items, strict=True))
        return [found[text] for text in sorted(texts)]
    values = list(map(known_value, items))
    if MISSING in values or not all(isinstance(value, tuple) for value in values):
        return None
    try:
        return [items[k] for k in sorted(range(len(items)), key=values.__getitem__)]
    except TypeError:  # a number beside a text: Python says so
        return None


def number(value: int, node: ast.AST) -> Leaf:
    """An integer that is known."""
    return Leaf(ast.copy_location(ast.Constant(value), node), value)


def known_leaf(key: Any, node: ast.AST) -> Tree:
    """A value that is known."""
    return number(key, node) if isinstance(key, int) and not isinstance(key, Enum) else Static(key)


def known_range(scope: Scope, node: ast.expr) -> list[Tree] | None:
    """The numbers of a `range` whose bounds are known, or of one that is reversed; None for anything else."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]) if scope.value_outside(function) is reversed:
            numbers = known_range(scope, inner)
            return None if numbers is None else numbers[::-1]
        case ast.Call(func=function, args=args, keywords=[]) if scope.value_outside(function) is range:
            bounds = [static(scope, a) for a in args]
            if all(type(b) is int for b in bounds) and 1 <= len(bounds) <= 3 and is_short(bounds):
                return [number(k, node) for k in range(*bounds)]
        case ast.Name() | ast.Attribute() | ast.Subscript() if isinstance(tree := base_of(scope, node), Branch):
            bounds = [getattr(item, "known", None) for item in tree.items] if tree.type is range else []
            if bounds and all(type(b) is int for b in bounds) and is_short(bounds):  # type: ignore[arg-type]
                return [number(k, node) for k in range(*bounds)]  # type: ignore[arg-type]
        case _:
            pass
    return None


def is_asked_for(scope: Scope, node: ast.For) -> bool:
    """Whether the variable of a loop says which element of a structure its body means."""
    if not isinstance(node.target, ast.Name):
        return False
    for inner in (n for stmt in node.body for n in syntax_nodes(stmt)):
        match inner:
            case ast.Subscript(value=base, slice=index) if is_structure(scope, base):
                if any(isinstance(n, ast.Name) and n.id == node.target.id for n in syntax_nodes(index)):
                    return True
            case _:
                pass
    return False


def is_structure(scope: Scope, node: ast.expr) -> bool:
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(scope.value_outside(node), tuple | list | dict):
            return True
        node = node.value
    is_outside = isinstance(scope.value_outside(node), tuple | list | dict)
    return is_outside or (isinstance(node, ast.Name) and isinstance(scope.held.get(node.id), Branch))


def is_to_be_written_out(scope: Scope, node: ast.For, numbers: Sequence[Tree] | None) -> bool:
    """Whether a loop is one of those that are to be written out, and has a few iterations."""
    place = scope.source.span(node)
    return numbers is not None and len(numbers) <= FEW_ITEMS and (place.file, place.line) in scope.growing.written_out


def is_short(bounds: Sequence[int]) -> bool:
    """Whether a `range` of these has a few numbers."""
    return 0 not in bounds[2:] and len(range(*bounds)) <= MOST_ITEMS


Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp


def comprehension(scope: Scope, node: Comprehension) -> Tree | None:
    """A list or dictionary made of the items of one that is known; None if that is not what `node` goes over."""
    if id(node) not in scope.ahead:
        owned, said = set(scope.owned), len(scope.diagnostics)
        found = comprehended(scope, node)
        if len(scope.diagnostics) > said:
            found = Leaf(ast.copy_location(ast.Constant(0), node))
        if found is not None and not isinstance(node, ast.GeneratorExp) and leaves_nothing(node, found):
            scope.owned = owned
        if not scope.may_run_ahead:
            return found
        scope.ahead[id(node)] = node, found
    return scope.ahead[id(node)][1]


def leaves_nothing(node: Comprehension, found: Tree) -> bool:
    """Whether numbers and arrays are all that is left in `found` of the items that `node`, or the list or dictionary
    that it is, goes over: it reads parts of them."""
    names = stored_names([generator.target for generator in node.generators])
    is_plain = isinstance(found, Branch) and not any(isinstance(i, Branch) for i in found.items)
    return is_plain and all(has_parts_alone([node], name) for name in names)


def has_parts_alone(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether `nodes` read parts of what `name` stands for, and which object it is, and no more: nobody gets that."""
    inside = [n for node in nodes for n in syntax_nodes(node)]
    parts = {
        id(n.value) for n in inside if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Load)
    }
    for n in inside:
        if isinstance(n, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in n.ops):
            parts |= {id(part) for part in (n.left, *n.comparators)}
    reads = [n for n in inside if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return all(id(n) in parts for n in reads)


def comprehended(scope: Scope, node: Comprehension) -> Tree | None:
    refuse_late_names(scope, node)
    rounds: list[Names] = [{}]
    for generator in node.generators:
        longer: list[Names] = []
        for names in rounds:
            here = partial(gone_over, scope, node, generator.iter)
            items = here() if generator is node.generators[0] else where_held(scope, names, here)
            if items is None:
                return None
            for item in [steadied(scope, i, (), generator.iter) for i in items]:
                inner: Names = {**names, **held_by(scope, generator.target, item)}
                tests = [where_held(scope, inner, partial(static, scope, test)) for test in generator.ifs]
                if any(t is MISSING for t in tests):
                    scope.reject("whether this is among the elements is not known before the loops run", node)
                    return in_row("list", ())
                longer += [inner] if all(tests) else []
        rounds = longer
    if not isinstance(node, ast.DictComp):
        return in_row("list", tuple(where_held(scope, n, partial(element, scope, node.elt), True) for n in rounds))
    keys = [where_held(scope, names, partial(static, scope, node.key)) for names in rounds]
    if any(k is MISSING for k in keys):
        return scope.reject(f"the key `{ast.unparse(node.key)}` is not known before the loops run", node.key)
    values = [where_held(scope, names, partial(element, scope, node.value), True) for names in rounds]
    found = dict(zip(keys, values, strict=True))
    return dictionary_of(found)


def refuse_late_names(scope: Scope, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
    """Reject functions in a comprehension that read its names: they would find what these hold when they are called."""
    names = stored_names([generator.target for generator in node.generators])
    for inner in syntax_nodes(node):
        if isinstance(inner, ast.Lambda) and names & free_names(inner):
            hint = "give it the value as a default: `lambda v, c=c: ...`, or write a `for` loop"
            scope.reject(f"`{ast.unparse(inner)}` reads what the comprehension goes on to change", inner, hint)


def gone_over(scope: Scope, node: ast.expr, over: ast.expr) -> list[Tree] | None:
    """What a comprehension goes over, where that is known."""
    found = items_of(scope, over)
    if found is None and isinstance(node, ast.ListComp | ast.DictComp):
        found = known_range(scope, over) or (first_elements(scope, over) if makes_records(scope, node) else None)
    return found


def makes_records(scope: Scope, node: ast.expr) -> bool:
    """Whether a comprehension has an object or record for each item: no array holds these."""
    elt = node.elt if isinstance(node, ast.ListComp) else getattr(node, "value", node)
    calls = [n for n in syntax_nodes(elt) if isinstance(n, ast.Call)]
    made = (scope.value_outside(n.func) for n in calls)
    return any(isinstance(kind, type) and is_record_class(kind) for kind in made)


def first_elements(scope: Scope, over: ast.expr) -> list[Tree] | None:
    """Elements of arrays of which the text says how many they are, as `x[:3]`, after assertions that they are there."""
    match over:
        case ast.Call(args=[inside], keywords=[]) if is_call_of(scope, over, enumerate):
            rows = [first_elements(scope, inside)]
        case ast.Call(args=args, keywords=[]) if is_call_of(scope, over, zip):
            rows = [items_of(scope, a) or first_elements(scope, a) for a in args]
        case ast.Subscript(value=base, slice=ast.Slice(lower=None, upper=ast.Constant(value=int(count)), step=None)):
            text, length = ast.unparse(over), ast.Call(scope.name_for(len, over), [expression(scope, over)], [])
            test = ast.Compare(length, [ast.Eq()], [ast.Constant(count)])
            message = ast.Constant(f"`{text}` has {count} elements, of which objects are made")
            scope.out.append(in_place_of(ast.Assert(test, message), over))
            whole = expression(scope, base)
            parts = (ast.Subscript(whole, ast.Constant(k), ast.Load()) for k in range(count))
            return [Leaf(in_place_of(part, over)) for part in parts]
        case _:
            return None
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    if is_call_of(scope, over, enumerate):
        return [in_row("tuple", (number(k, over), item)) for k, item in enumerate(known[0])]
    return [in_row("tuple", row) for row in zip(*known, strict=False)]


def held_by(scope: Scope, target: ast.expr, item: Tree) -> Names:
    """What names of a comprehension hold."""
    match target, item:
        case ast.Name(id=name), _:
            return {name: item}
        case ast.Tuple(elts=elts) | ast.List(elts=elts), Branch(items=items) if len(elts) == len(items):
            return {n: h for e, i in zip(elts, items, strict=True) for n, h in held_by(scope, e, i).items()}
        case _:
            scope.reject(f"`{ast.unparse(target)}` cannot hold {described(item)}", target)
            return {}


def spread(scope: Scope, nodes: Sequence[ast.expr]) -> tuple[Tree, ...]:
    """Trees of the elements of a display, or of arguments, those behind stars among them."""
    found: list[Tree] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items = items_of(scope, node.value)
            if items is None:
                scope.reject(f"how many values `{ast.unparse(node)}` stands for is not known", node)
            found += items or []
        else:
            found.append(kept_value(scope, node))
    return tuple(found)
