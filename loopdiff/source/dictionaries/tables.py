"""Dictionaries that a function makes itself and fills with keys that only the run says, known from its text alone."""

from __future__ import annotations

import ast
import collections
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import MISSING, dotted_name
from loopdiff.source.nodes import in_place_of, syntax_children, syntax_nodes
from loopdiff.source.scopes import bound_by, fresh, words_in

MOST_PLACES = 3  # in a key that is a tuple
FIRST_VALUES: dict[type, ast.expr] = {
    float: ast.Constant(0.0), int: ast.Constant(0), complex: ast.Constant(0j), list: ast.List([], ast.Load())
}  # fmt: skip
WITH_KEY = ("get", "setdefault", "add", "pop", "remove", "discard")
Outer = Mapping[str, Any]


@immutable
class Table:
    """A dictionary as lists: one of `values`, and of keys one for each place in them. `missing` is the value of keys
    that are not there, None if there is none; reading it `adds` them, if anybody can tell. `heads` is an array, `links`
    a list, which say where keys are (see `numpy_functions.keyed`). Where values are lists,
    their items are all in one, and `owners` says of each in which place the key is that it belongs to. It `is_set`:
    there are no values, and the order is not that of insertion. `is_read`: somebody asks for values. Where items are
    tuples that loops take apart, `more` are lists for their other places."""

    keys: tuple[str, ...]
    heads: str
    links: str
    values: str
    missing: ast.expr | None
    adds: bool
    owners: str | None = None
    is_set: bool = False
    is_read: bool = True
    more: tuple[str, ...] = ()


@immutable
class Making:
    """An expression that makes a dictionary of the pairs `first`, and of what `each` gives, a comprehension or what is
    counted."""

    first: tuple[tuple[ast.expr, ast.expr], ...] = ()
    each: ast.expr | None = None
    missing: ast.expr | None = None
    adds: bool = False
    is_set: bool = False


def value_in(outer: Outer, node: ast.expr) -> Any:
    """The value of a name from outside; MISSING if it has none."""
    return outer.get(dotted_name(node) or "", MISSING)


def making(node: ast.expr, outer: Outer) -> Making | None:
    """What dictionary `node` makes; None if it makes none whose keys may be numbers."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = tuple((k, v) for k, v in zip(keys, values, strict=True) if k is not None and not is_text(k))
            return Making(pairs) if len(pairs) == len(values) else None
        case ast.Set(elts=elts):
            is_plain = not any(is_text(e) or isinstance(e, ast.Starred) for e in elts)
            return Making(tuple((e, ast.Constant(1)) for e in elts), is_set=True) if is_plain else None
        case ast.DictComp(generators=parts) | ast.SetComp(generators=parts):
            return None if any(p.is_async for p in parts) else Making(each=node, is_set=isinstance(node, ast.SetComp))
        case ast.Call(func=called, args=args, keywords=[]):
            made, count = value_in(outer, called), len(args)
            if (made is dict or made is set) and not count:
                return Making(is_set=made is set)
            if (made is dict or made is set) and count == 1:
                return dictionary_of_pairs(node, outer) if made is dict else set_of_items(node)
            if made is collections.defaultdict and count == 1:
                missing = first_value(args[0], outer)
                return None if missing is None else Making(missing=missing, adds=True)
            if made is Counter and count < 2 and not any(isinstance(a, ast.Starred | ast.Dict) for a in args):
                return Making(each=args[0] if args else None, missing=ast.Constant(0))
        case _:
            pass
    return None


def dictionary_of_pairs(node: ast.Call, outer: Outer) -> Making | None:
    """`dict(zip(a, b))`."""
    match node.args:
        case [ast.Call(func=called, args=[ast.expr(), ast.expr()] as rows, keywords=[]) as pairs] if value_in(
            outer, called
        ) is zip and not any(isinstance(r, ast.Starred) for r in rows):
            key, value = (ast.Name(name, ast.Load()) for name in ("key", "value"))
            target = ast.Tuple([ast.Name(name, ast.Store()) for name in ("key", "value")], ast.Store())
            return Making(each=in_place_of(ast.DictComp(key, value, [ast.comprehension(target, pairs, [], 0)]), node))
        case _:
            return None


def set_of_items(node: ast.Call) -> Making | None:
    """`set(x)`, of numbers."""
    match node.args[0]:
        case ast.GeneratorExp(elt=elt, generators=parts) | ast.ListComp(elt=elt, generators=parts):
            return Making(each=in_place_of(ast.SetComp(elt, parts), node), is_set=True)
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            is_plain = not any(is_text(e) or isinstance(e, ast.Starred) for e in elts)
            return Making(tuple((e, ast.Constant(1)) for e in elts), is_set=True) if is_plain else None
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call(func=ast.Name(id="range")) as over:
            return Making(each=over, is_set=True)
        case ast.Call(func=ast.Attribute(attr="tolist" | "ravel" | "flatten"), args=[], keywords=[]) as over:
            return Making(each=over, is_set=True)
        case _:
            return None


def first_value(factory: ast.expr, outer: Outer) -> ast.expr | None:
    """What `defaultdict(factory)` has for keys that are not there, if that is an expression."""
    match factory:
        case ast.Lambda(args=ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kwarg=None), body=body):
            return body
        case ast.Name():
            made = value_in(outer, factory)
            return next((value for kind, value in FIRST_VALUES.items() if made is kind), None)
        case _:
            return None


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def tables_in(
    function: ast.FunctionDef, outer: Outer, taken: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Table]:  # fmt: skip
    """Dictionaries of `function` that have keys put into them, or come of comprehensions, by their names; names that
    get those of others, by what is `taken`, are among them."""
    nodes = [node for node in syntax_nodes(function) if node is not function]
    made = makings_in(nodes, outer)
    bound = Counter(n for node in nodes for n in bound_by(node))
    bound += Counter(node.arg for node in nodes if isinstance(node, ast.arg))
    given = {n: [o for o in others if o in made] for n, others in (taken or {}).items() if n in made}
    filled = {name for name, makings in made.items() if is_filled(nodes, name, makings)}
    filled |= {name for name, others in given.items() if filled & set(others)}
    words, found = words_in(function) | outer.keys(), dict[str, Table]()
    for name, makings in made.items():
        keys = list(keys_of(nodes, name, makings))
        width = width_of(nodes, keys)
        if bound[name] != len(makings) + len(given.get(name, ())) or any(map(is_text, keys)):
            continue
        if not width or name not in filled:
            continue
        missing = {ast.dump(m.missing) for m in makings if m.missing is not None}
        if len(missing) > 1 or len({(m.missing is None, m.adds, m.is_set) for m in makings}) > 1:
            continue
        are_lists = holds_lists(nodes, name, makings)
        if are_lists is None:
            continue
        columns = tuple(fresh(words, f"{name}_keys" if width == 1 else f"{name}_keys{k}") for k in range(width))
        is_kept = isinstance(makings[0].missing, ast.Constant | ast.List)  # arrays may be changed in place
        adds = makings[0].adds and (not is_kept or is_looked_through(function, name))
        owners = fresh(words, f"{name}_owners") if are_lists else None
        heads, links, values = (fresh(words, f"{name}_{part}") for part in ("heads", "links", "values"))
        found[name] = Table(columns, heads, links, values, makings[0].missing, adds, owners)
        is_read = any(reads_value(node, name) for node in nodes)
        begins = [m.missing for m in makings] + [m.each.value for m in makings if isinstance(m.each, ast.DictComp)]
        are_empty = are_lists and all(b is None or is_empty_list(b) for b in begins)
        others = range(1, places_in_items(function, name) if are_empty else 1)
        more = tuple(fresh(words, f"{name}_values{k}") for k in others)
        found[name] = replace(found[name], is_set=makings[0].is_set, is_read=is_read, more=more)
    return found


def makings_in(nodes: Collection[ast.AST], outer: Outer) -> dict[str, list[Making]]:
    """What dictionaries `nodes` make, by the names that get them."""
    made: dict[str, list[Making]] = {}
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if (found := making(value, outer)) is not None:
                made.setdefault(name, []).append(found)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for name, found in made_together(targets, values, outer):
                    made.setdefault(name, []).append(found)
            case _:
                pass
    return made


def made_together(
    targets: Sequence[ast.expr], values: Sequence[ast.expr], outer: Outer
) -> Iterator[tuple[str, Making]]:  # fmt: skip
    """Dictionaries among what `a, b = {}, e` assigns, which are empty."""
    for target, value in zip(targets, values, strict=False):
        found = making(value, outer)
        is_plain = len(targets) == len(values) and not any(isinstance(t, ast.Starred) for t in (*targets, *values))
        if is_plain and isinstance(target, ast.Name) and found is not None and not found.first and found.each is None:
            yield target.id, found


def keys_of(nodes: Collection[ast.AST], name: str, makings: Collection[Making]) -> Iterator[ast.expr]:
    """The keys that the dictionary `name` is asked for, or given."""
    yield from (key for made in makings for key, _ in made.first)
    yield from (made.each.key for made in makings if isinstance(made.each, ast.DictComp))
    yield from (made.each.elt for made in makings if isinstance(made.each, ast.SetComp))
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=own), slice=key) if own == name:
                yield key
            case ast.Call(func=ast.Attribute(ast.Name(id=own), attr), args=[key, *_]) if (
                own == name and attr in WITH_KEY
            ):
                yield key
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=own)]) if own == name:
                yield key
            case _:
                pass


def width_of(nodes: Collection[ast.AST], keys: Collection[ast.expr]) -> int:
    """How many places keys have, 1 if they are numbers; 0 if that is not the same everywhere."""
    names = {key.id for key in keys if isinstance(key, ast.Name)}
    named = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets)
    ]
    widths = {len(key.elts) for key in (*keys, *named) if isinstance(key, ast.Tuple)} or {1}
    width = widths.pop()
    return width if not widths and width <= MOST_PLACES else 0


def reads_value(node: ast.AST, name: str) -> bool:
    """Whether `node` asks the dictionary for values."""
    match node:
        case ast.Subscript(value=ast.Name(id=own), ctx=ast.Load()):
            return own == name
        case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=own))):
            return own == name
        case ast.Attribute(value=ast.Name(id=own), attr=attr):
            return own == name and attr not in ("keys", "add")
        case _:
            return False


def holds_lists(nodes: Collection[ast.AST], name: str, makings: Collection[Making]) -> bool | None:
    """Whether values are lists that grow; None if some of them are something else."""
    values = [m.missing for m in makings if m.missing is not None] + [v for m in makings for _, v in m.first]
    values += [m.each.value for m in makings if isinstance(m.each, ast.DictComp)]
    grows = any(isinstance(m.missing, ast.List) for m in makings)
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=own))], value=value) if own == name:
                values.append(value)
            case ast.Call(func=ast.Attribute(ast.Name(id=own), "setdefault"), args=[_, value]) if own == name:
                values.append(value)
            case ast.Call(func=ast.Attribute(ast.Subscript(value=ast.Name(id=own)), "append")) if own == name:
                grows = True
            case _:
                pass
    are_lists = [isinstance(v, ast.List) and not any(isinstance(e, ast.Starred) for e in v.elts) for v in values]
    grows |= any(isinstance(v, ast.List) and not v.elts for v in values)
    if not grows:
        return False
    are_pairs = all(m.each is None or isinstance(m.each, ast.DictComp) for m in makings)
    return True if all(are_lists) and are_pairs else None


def places_in_items(function: ast.FunctionDef, name: str) -> int:
    """How long the tuples are that go into the lists of a dictionary, if loops take them apart and nothing else is done
    with them; else 1."""
    parents = {child: node for node in syntax_nodes(function) for child in syntax_children(node)}
    widths = {1}
    for node in (n for n in syntax_nodes(function) if isinstance(n, ast.Name) and n.id == name):
        match parents[node]:
            case ast.Assign(targets=[ast.Name() as target]) | ast.AnnAssign(target=target) if target is node:
                pass
            case ast.Tuple(ctx=ast.Store()) as row if isinstance(parents[row], ast.Assign):  # `d, t = {}, 0.0`
                pass
            case ast.Subscript(ctx=ast.Store()) as own:
                is_empty = isinstance(stmt := parents[own], ast.Assign) and is_empty_list(stmt.value)
                widths.add(1 if is_empty else 0)
            case ast.Subscript(value=value, ctx=ast.Load()) as own if value is node:
                widths.add(width_of_use(own, parents))
            case ast.Attribute(attr="setdefault") as func if isinstance(call := parents[func], ast.Call):
                widths.add(width_of_use(call, parents) if call.args and is_empty_list(call.args[-1]) else 0)
            case ast.Compare(comparators=[asked]) | ast.For(iter=asked) if asked is node:
                pass
            case ast.Call(func=ast.Name(id="len"), args=[_]):
                pass
            case _:
                return 1
    widths.discard(1)
    return widths.pop() if len(widths) == 1 and 0 not in widths else 1


def is_empty_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts


def width_of_use(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> int:
    """How many places items have in a list, by what is done with it; 0 if that does not say."""
    match parents[node]:
        case ast.Expr():
            return 1
        case ast.For(target=ast.Tuple(elts=elts), iter=over) if over is node:
            pass
        case ast.comprehension(target=ast.Tuple(elts=elts), iter=over) if over is node:
            pass
        case ast.Attribute(attr="append") as func if isinstance(call := parents[func], ast.Call):
            elts = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else []
        case _:
            return 0
    return len(elts) if len(elts) > 1 and not any(isinstance(e, ast.Starred) for e in elts) else 0


def is_looked_through(function: ast.FunctionDef, name: str) -> bool:
    """Whether anything tells which keys the dictionary has: more than values of keys that are named."""
    subscripts = [n for n in syntax_nodes(function) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]
    named = {id(n.value) for n in subscripts}
    reads = (n for n in syntax_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return any(n.id == name and id(n) not in named for n in reads)


def is_filled(nodes: Collection[ast.AST], name: str, makings: Collection[Making]) -> bool:
    """Whether keys come into the dictionary after it was made, or by a comprehension; sets have theirs at once, too."""
    if any(made.each is not None or (made.is_set and made.first) for made in makings):
        return True
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=own), ctx=ast.Store()) if own == name:
                return True
            case ast.Call(func=ast.Attribute(ast.Name(id=own), "setdefault" | "add")) if own == name:
                return True
            case _:
                pass
    return any(made.adds for made in makings)
