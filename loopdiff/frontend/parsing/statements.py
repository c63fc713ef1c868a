"""Python statements to IR statements, following what local names stand for through branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, at_least_zero, maximum, minimum, minus, plus
from loopdiff.frontend.arrays.ranges import limit
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.assignments import (
    assign,
    assign_value,
    elements,
    matched,
    parse_assign,
    parse_augmented,
)
from loopdiff.frontend.parsing.bare import parse_bare_expression
from loopdiff.frontend.parsing.bindings import ArrayName, Bindings, ListRow, Value, Varying, without_dead
from loopdiff.frontend.parsing.expressions import chosen, condition
from loopdiff.frontend.parsing.iterables import Iteration, parse_iterable, trips_of
from loopdiff.frontend.parsing.iterations import LoopState, Trips
from loopdiff.frontend.parsing.lists.growing import is_append
from loopdiff.frontend.parsing.meanings import local_function
from loopdiff.frontend.parsing.order import frozen, otherwise
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.bounded import (
    Ranges,
    counted,
    known_ranges,
    most_trips,
    ranges_made_smaller,
    ranges_of_condition,
    starts_of_larger,
    until_stored,
)
from loopdiff.frontend.parsing.ways.choices import in_branches, with_named_choices, with_named_items
from loopdiff.frontend.parsing.ways.flow import after_loop, constant_trips, meet, stable_condition, with_conditions
from loopdiff.frontend.parsing.ways.joins import copy_all
from loopdiff.frontend.parsing.ways.jumps import ENDLESS, can_be_left
from loopdiff.frontend.parsing.ways.loops import parse_body, run_flags
from loopdiff.frontend.parsing.ways.reach import arrays_of, others
from loopdiff.frontend.parsing.ways.resized import is_all_in_memory
from loopdiff.frontend.parsing.ways.returns import parse_return
from loopdiff.frontend.parsing.ways.shorter import trips_of_shorter
from loopdiff.frontend.parsing.ways.varying import (
    at_end,
    differing,
    for_each_choice,
    join_options,
    with_heads,
)
from loopdiff.frontend.refused import REFUSED_STATEMENTS
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, subexprs, written_arrays
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.nodes import syntax_nodes


def parse_block(state: State, body: list[ast.stmt]) -> None:
    """Statements up to one that nothing comes to, because the flow always jumps before."""
    for node in body:
        if state.is_dead:
            break
        parse_stmt(state, node)


def parse_stmt(state: State, node: ast.stmt) -> None:
    """One statement; if it uses names that may stand for several arrays, once for each of these."""
    node, named = with_named_choices(state, node, parse_stmt)
    node, items = with_named_items(state, node, parse_stmt)
    since, place = state.whole.clock, len(state.out)
    if isinstance(node, ast.Return):  # only its values are: it is one way out
        parse_one(state, node)
    else:
        for_each_choice(state, lambda: parse_one(state, node), keyword_span(state, node))
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr) and not is_append(state, node):
        state.whole.note_altered(sorted(written_arrays(tuple(state.out[place:])) - set(state.cells)), since)
    for name in (*named, *items):
        state.bindings.pop(name, None)


def parse_one(state: State, node: ast.stmt) -> None:
    span = state.source.span(node)
    match node:
        case ast.Assign() | ast.AugAssign() if (branches := in_branches(state, node)) is not None:
            parse_if(state, branches)
        case ast.Assign(targets=targets, value=value):
            parse_assign(state, targets, value, span)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            parse_assign(state, [target], value, span)
        case ast.AugAssign():
            parse_augmented(state, node)
        case ast.For() | ast.While() | ast.If():
            parse_compound(state, node)
        case ast.Assert() | ast.Raise(exc=ast.expr(), cause=None | ast.Constant(value=None)):
            parse_check(state, node)
        case ast.Pass() | ast.AnnAssign(value=None):
            pass
        case ast.Break() | ast.Continue() | ast.Return():
            parse_jump(state, node, span)
        case ast.FunctionDef():
            state.bindings[node.name] = local_function(state, node)
        case ast.Expr(value=value):
            parse_bare_expression(state, node, value)
        case _:
            parse_refused(state, node)


def parse_compound(state: State, node: ast.For | ast.While | ast.If) -> None:
    match node:
        case ast.For():
            parse_for(state, node)
        case ast.While():
            parse_while(state, node)
        case ast.If():
            parse_if(state, node)


def parse_check(state: State, node: ast.Assert | ast.Raise) -> None:
    if isinstance(node, ast.Assert):
        parse_assert(state, node)
    elif node.exc is not None:
        parse_raise(state, node.exc, node)


def parse_assert(state: State, node: ast.Assert) -> None:
    """A check at every call; in a function of NumPy that is written out, one that types decide is what it refuses."""
    text = (message_of(node.msg) if node.msg is not None else None) or ast.unparse(node.test)
    span = state.source.span(node)
    holds = condition(state, node.test)
    if isinstance(holds, ir.Const) and not holds.value and is_of_numpy(state.source.home.file):
        state.reject("LD110", text, node, "call it as the language table has it, or write the loop")
        state.is_dead = True
        return
    state.out.append(ir.Require(holds, "LD332", f"assertion failed: {text}", loc=span))


def parse_raise(state: State, error: ast.expr, node: ast.Raise) -> None:
    """A check that fails for every call that comes here; what follows is never reached."""
    match error:
        case ast.Call(func=kind, args=args, keywords=[]):
            parts = [message_of(a) or f"{{{ast.unparse(a)}}}" for a in args]
        case kind:
            parts = []
    known = state.outside(kind)
    if not isinstance(known, type) or not issubclass(known, Exception):
        message = f"`raise {ast.unparse(error)}` raises something that is no class of exceptions here"
        state.reject("LD103", message, keyword_span(state, node), 'write `raise ValueError("...")`')
    span, text = state.source.span(node), ast.unparse(kind) + (": " if parts else "") + ", ".join(parts)
    state.out.append(ir.Require(ir.Const(False, loc=span), "LD332", text, loc=span))
    state.is_dead = True


def message_of(node: ast.expr) -> str | None:
    """A text that is written out, with what it is formatted with in braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            parts = (v.value if isinstance(v, ast.FormattedValue) else v for v in values)
            return "".join(p.value if isinstance(p, ast.Constant) else f"{{{ast.unparse(p)}}}" for p in parts)  # type: ignore[misc]
        case _:
            return None


def parse_refused(state: State, node: ast.stmt) -> None:
    """A statement outside the language; its body is parsed for further rejections."""
    code, message, hint = REFUSED_STATEMENTS.get(type(node), ("LD103", f"`{type(node).__name__}` statement", None))
    state.reject(code, message, keyword_span(state, node), hint)
    before = dict(state.bindings)
    state.forget(node)
    state.bindings |= before
    if isinstance(node, ast.AsyncFunctionDef | ast.ClassDef):
        return
    with state.block():
        for field in ("body", "handlers", "orelse", "finalbody"):
            for child in getattr(node, field, []):
                parse_block(state, child.body if isinstance(child, ast.ExceptHandler) else [child])


def keyword_span(state: State, node: ast.stmt) -> Span:
    """The first line of a statement: a report shows the line, not the block."""
    span = state.source.span(node)
    if span.end_line == span.line:
        return span
    header = state.source.lines(span.line, span.line)[0].rstrip()
    return replace(span, end_line=span.line, end_column=len(header))


# -- branches ------------------------------------------------------------------------------------------------
def parse_if(state: State, node: ast.If) -> None:
    """A branch on a constant leaves only what is taken; otherwise, also where the condition was rejected, both are
    parsed from the same bindings."""
    rejected = state.whole.rejected
    cond = chosen(state, node.test)
    if isinstance(cond, ir.Const) and state.whole.rejected == rejected:
        parse_block(state, node.body if cond.value else node.orelse)
        return
    span = keyword_span(state, node)
    before, earlier = dict(state.bindings), frozenset(state.arrays)
    then, after_then = parse_branch(state, node.body)
    state.bindings = dict(before)
    orelse, after_else = parse_branch(state, node.orelse)
    dead, then_body, else_body = state.live.dead_after(node), list(then), list(orelse)
    after_then, after_else = (None if a is None else without_dead(a, dead) for a in (after_then, after_else))
    join_options(state, [(after_then, then_body), (after_else, else_body)], earlier, span)
    match then_body, else_body:
        case [ir.Require(cond=ir.Const(value=False)) as error], []:  # checks before and behind it know what it says
            state.out.append(replace(error, cond=otherwise(cond)))
        case _:
            state.out.append(ir.If(cond, tuple(then_body), tuple(else_body), loc=span))


def parse_branch(state: State, body: list[ast.stmt]) -> tuple[tuple[ir.Stmt, ...], Bindings | None]:
    """Statements that may not run, and what names stand for at their end; None if nothing comes to it."""
    with state.block() as out:
        parse_block(state, body)
    end = None if state.is_dead else state.bindings
    state.is_dead = False
    return tuple(out), end


# -- jumps ---------------------------------------------------------------------------------------------------
def parse_jump(state: State, node: ast.Break | ast.Continue | ast.Return, span: Span) -> None:
    kind: ir.JumpKind
    match node:
        case ast.Break():
            kind, loop = "break", state.loops[-1]
            if loop.broke is not None:
                state.out.append(ir.Assign(loop.broke, ir.Const(True, loc=span), loc=span))
            loop.breaks.append(at_end(state, loop, span))
        case ast.Continue():
            kind = "continue"
            state.loops[-1].ends.append(at_end(state, state.loops[-1], span))
        case ast.Return():
            kind = "return"
            for_each_choice(state, lambda: parse_return(state, node), span)
    state.out.append(ir.Jump(kind, loc=span))
    state.is_dead = True


# -- loops ---------------------------------------------------------------------------------------------------
def parse_for(state: State, node: ast.For) -> None:
    iteration = parse_iterable(state, node.iter)
    if iteration is None:
        parse_body_of_refused(state, node)
        return
    span = keyword_span(state, node)
    if not isinstance(iteration.step, ir.Const):
        step = frozen(state, iteration.step, "step")
        iteration = replace(iteration, step=step)
        is_moving = ir.Apply(Op.NE, (step, ir.Const(0, loc=span)), loc=span)
        state.out.append(ir.Require(is_moving, "LD330", "the step of `range` is zero", loc=span))
    iteration = iteration.placed(span)
    index, placed = state.index(index_stem(node.target, iteration)), iteration
    around = list(state.iterated)
    state.iterated += sorted(arrays_in(state, placed.value(ir.Index(index))))

    trips, smaller = trips_known(state, iteration, index), ranges_made_smaller(state, node)

    def parse() -> None:
        bind_targets(state, node.target, placed.value(ir.Index(index, loc=state.source.span(node.target))))
        with known_range(state, node, placed), known_ranges(state, smaller), counted(state, trips):
            parse_block(state, node.body)

    loop, before, body = parse_body(state, node, span, parse, trips)
    iteration = with_settled_bounds(state, iteration, tuple(body))
    done: Bindings | None = None if (constant_trips(iteration) or 0) > 0 else before
    if loop.ends and done is None:
        done = dict(state.bindings)
    elif loop.ends:
        ran = stable_condition(state, iteration)
        flags = run_flags(state, loop, before, body, span, is_needed=ran is None)
        done = after_loop(state, before, ran, flags, written_arrays(tuple(body)), span)
    state.out.append(ir.Loop(index, iteration.lower, iteration.upper, iteration.step, tuple(body), loc=span))
    after_exits(state, node, loop, done, span)
    state.iterated = around


def arrays_in(state: State, value: Value) -> set[str]:
    """Arrays that `value`, an item of what a loop goes over, is a part of."""
    match value:
        case tuple():
            return {a for v in value for a in arrays_in(state, v)}
        case View(array=array) | ListRow(view=View(array=array)):
            return {array}
        case _ if isinstance(value, ir.Expr):
            return {e.access.array for e in loads(value) if state.arrays[e.access.array].extents != ()}
        case _:
            return set()


@contextmanager
def known_range(state: State, node: ast.For, iteration: Iteration) -> Iterator[None]:
    """Inside, the range of the loop variable is known, if it stays and the body does not assign it: between numbers
    known at entry, or variables of loops around whose ranges are.
    """
    name = node.target.id if isinstance(node.target, ast.Name) else ""
    cell = state.cells.get(name)
    lower, upper = state.known(iteration.lower), state.known(iteration.upper)
    is_kept = not any(is_stored(n, name) for s in node.body for n in syntax_nodes(s))
    step = iteration.step.value if isinstance(iteration.step, ir.Const) else 0
    if cell is None or not (iteration.is_range and is_kept and stays(state, lower, upper)):
        yield
        return
    first, stop = (lower, upper) if step > 0 else (plus(upper, ONE), plus(lower, ONE))
    if step == 0:  # known when it runs
        first, stop = minimum(lower, first), maximum(upper, stop)
    state.whole.ranges[cell] = first, stop
    state.whole.entered.append(minus(minus(stop, ONE), first))
    yield
    state.whole.entered.pop()
    state.whole.ranges.pop(cell, None)


def trips_known(state: State, iteration: Iteration, index: str) -> Trips:
    """What is known at entry of how often a loop runs."""
    trips = state.known(trips_of(iteration))
    most = limit(state, trips)
    is_unit = iteration.step == ONE and state.is_fixed(state.known(iteration.lower))
    number = minus(ir.Index(index), state.known(iteration.lower)) if is_unit else None
    return Trips(None if most is None else at_least_zero(most), state.is_fixed(trips), number)


def stays(state: State, *bounds: ir.Expr) -> bool:
    """Whether numbers are made of what is known at entry and of variables of loops around whose ranges are known."""
    leaves = (e for b in bounds for e in subexprs(b) if not isinstance(e, ir.Apply))
    return all(e.access.array in state.whole.ranges if isinstance(e, ir.Load) else state.is_fixed(e) for e in leaves)


def is_stored(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def parse_while(state: State, node: ast.While) -> None:
    """`while` is a loop without end that is left where its condition fails."""
    span, rejected = keyword_span(state, node), state.whole.rejected
    index = state.index("trip")
    is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

    smaller, starts = ranges_made_smaller(state, node), starts_of_larger(state, node)
    shorter = trips_of_shorter(state, node)

    def parse() -> None:
        held: Ranges = {}
        trips = state.loops[-1].trips
        if not is_endless:
            cond = loop_condition(state, node.test, span)
            state.out.append(ir.Exit(ir.Apply(Op.NOT, (cond,), loc=cond.loc), loc=span))
            held = ranges_of_condition(state, cond, starts, smaller)
            state.loops[-1].trips = trips = Trips(most_trips(state, node, cond, starts) or shorter)
        count = until_stored(state, node.body, held)
        with counted(state, trips), known_ranges(state, smaller):
            with known_ranges(state, held):
                parse_block(state, node.body[:count])
            parse_block(state, node.body[count:])

    loop, before, body = parse_body(state, node, span, parse, Trips())
    if is_endless and state.whole.rejected == rejected and not can_be_left(body):
        state.reject("LD103", "`while True` that no `break` or `return` leaves", span, "write `while` and a condition")
    lower, upper, step = (ir.Const(value, loc=span) for value in (0, ENDLESS, 1))
    done: Bindings | None = None
    if not is_endless:
        flags = run_flags(state, loop, before, body, span)
        done = after_loop(state, before, None, flags, written_arrays(tuple(body)), span) if loop.ends else before
        done = done if loop.heads is None else with_heads(done, loop.heads)
    state.out.append(ir.Loop(index, lower, upper, step, tuple(body), loc=span))
    after_exits(state, node, loop, done, span)


def loop_condition(state: State, test: ast.expr, span: Span) -> ir.Expr:
    """The condition of `while`; where it depends on names that stand for several arrays, from a cell."""
    if not any(isinstance(b, Varying) for b in state.bindings.values()):
        return condition(state, test)
    cell = state.temporary("goes_on", span)
    for_each_choice(state, lambda: state.out.append(ir.Assign(cell, condition(state, test), loc=span)), span)
    return ir.Load(cell, loc=span)


def after_exits(state: State, node: ast.For | ast.While, loop: LoopState, done: Bindings | None, span: Span) -> None:
    """The `else` of a loop, and what names stand for after it; `done`: when it was not left by a jump, if it can be."""
    state.is_dead = done is None
    state.bindings = {} if done is None else done
    orelse, end = parse_branch(state, node.orelse) if done is not None else ((), None)
    if end is not None and loop.broke is not None and loop.breaks:
        orelse = (*orelse, *join_end(state, end, loop.breaks, span))
    if loop.broke is None:
        state.out += orelse
    elif orelse:
        state.out.append(ir.If(ir.Apply(Op.NOT, (ir.Load(loop.broke, loc=span),), loc=span), orelse, loc=span))
    meet(state, [end, *(with_conditions(b, end or {}) for b in loop.breaks)], span)


def join_end(state: State, end: Bindings, breaks: Sequence[Bindings], span: Span) -> tuple[ir.Stmt, ...]:
    """Statements after which names stand, where the loop was not left by `break`, for the arrays that they stand for
    where it was."""
    memory: dict[str, str] = {}
    for name in differing([end, *breaks]):
        first = breaks[0][name]
        if (
            isinstance(first, ArrayName | View)
            and is_all_in_memory(state, first, span)
            and all(b[name] == first for b in breaks)
        ):
            is_free = not any(first.array in arrays_of(b) for b in others(state, end, name))
            if is_free and state.arrays[first.array].role == "local":
                memory[name] = first.array
    with state.block() as out:
        copy_all(state, end, memory, span)
    return tuple(out)


def with_settled_bounds(state: State, iteration: Iteration, body: tuple[ir.Stmt, ...]) -> Iteration:
    """Bounds that the body changes are held in cells: they are evaluated once, before the first iteration."""
    written = written_arrays(body)

    def settled(bound: ir.Expr, stem: str) -> ir.Expr:
        return frozen(state, bound, stem) if any(e.access.array in written for e in loads(bound)) else bound

    return replace(iteration, lower=settled(iteration.lower, "start"), upper=settled(iteration.upper, "stop"))


def index_stem(target: ast.expr, iteration: Iteration) -> str:
    """The index is named after the loop variable, or `at_v` if that holds elements."""
    if isinstance(target, ast.Tuple | ast.List) and target.elts and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id if not iteration.is_range else "i"
    if isinstance(target, ast.Name):
        return target.id if iteration.is_range else f"at_{target.id}"
    return "i"


def bind_targets(state: State, target: ast.expr, value: Value) -> None:
    """Statements that give the loop variables their values at the start of each iteration."""
    span = state.source.span(target)
    if isinstance(value, ListRow) and isinstance(target, ast.Name):
        assign_value(state, target, value, target, span)
        return
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, View | ListRow):
        found = elements(state, value, target, target)
        if found is None:
            state.forget(target)
            return
        value = found
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple):
        for one, single in zip(*matched(state, target, value), strict=True):
            bind_targets(state, one, single)
    elif not isinstance(value, ir.Expr | View) or not isinstance(target, ast.Name):
        hint = "use one name for each value: `for i, x in enumerate(v)`"
        state.reject("LD107", f"`{ast.unparse(target)}` cannot be the variable of this loop", target, hint)
        state.forget(target)
    else:
        assign(state, target, value, span)


def parse_body_of_refused(state: State, node: ast.For) -> None:
    """Look through the body of a loop that cannot be translated, for further rejections."""
    with state.block():
        state.forget(node.target)
        state.loops.append(LoopState())  # for jumps
        parse_block(state, node.body)
        state.loops.pop()
        state.is_dead = False
