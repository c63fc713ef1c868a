"""Python statements to IR statements, following what local names stand for through branches and loops."""

from __future__ import annotations

import ast
from dataclasses import replace

from loopdiff.errors import Span
from loopdiff.frontend.functions import scalar_function
from loopdiff.frontend.language import REFUSED_METHODS, REFUSED_STATEMENTS
from loopdiff.frontend.parse_assign import assign, matched, parse_assign, parse_augmented
from loopdiff.frontend.parse_expr import condition
from loopdiff.frontend.parse_iter import Iteration, Value, frozen, parse_iterable
from loopdiff.frontend.parse_state import ArrayName, Binding, Bindings, Cell, Mixed, State, Unsure
from loopdiff.ir.nodes import Apply, Const, Expr, If, Index, Load, Loop, Require, Stmt
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, subexprs, written_arrays


def parse_block(state: State, body: list[ast.stmt]) -> None:
    for node in body:
        parse_stmt(state, node)


def parse_stmt(state: State, node: ast.stmt) -> None:
    span = state.source.span(node)
    match node:
        case ast.Assign(targets=targets, value=value):
            parse_assign(state, targets, value, span)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                parse_assign(state, [target], value, span)
        case ast.AugAssign():
            parse_augmented(state, node)
        case ast.For():
            parse_for(state, node)
        case ast.If():
            parse_if(state, node)
        case ast.Assert(test=test, msg=message):
            is_text = isinstance(message, ast.Constant) and isinstance(message.value, str)
            text = message.value if isinstance(message, ast.Constant) and is_text else ast.unparse(test)
            state.out.append(Require(condition(state, test), "LD332", f"assertion failed: {text}", loc=span))
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            pass
        case ast.Return():
            state.reject("LD104", "`return` before the end of the function", node)
        case ast.Expr(value=value):
            parse_bare_expression(state, node, value)
        case _:
            parse_refused(state, node)


def parse_bare_expression(state: State, node: ast.stmt, value: ast.expr) -> None:
    text = ast.unparse(value)
    if isinstance(value, ast.Call) and scalar_function(state.outside(value.func)) is None:
        name = ast.unparse(value.func).split(".")[-1]
        state.reject("LD109", f"`{text}` is called for its effect", node, REFUSED_METHODS.get(name))
    else:
        state.reject("LD103", f"the value of `{text}` is not used", node, "assign it, or leave it out")


def parse_refused(state: State, node: ast.stmt) -> None:
    """A statement outside the language; its body is parsed for further rejections."""
    code, message, hint = REFUSED_STATEMENTS.get(type(node), ("LD103", f"`{type(node).__name__}` statement", None))
    state.reject(code, message, keyword_span(state, node), hint)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    before = len(state.diagnostics)
    with state.block():
        for field in ("body", "handlers", "orelse", "finalbody"):
            for child in getattr(node, field, []):
                parse_block(state, child.body if isinstance(child, ast.ExceptHandler) else [child])
    kept = [d for d in state.diagnostics[before:] if d.code != "LD114"]
    state.diagnostics[before:] = kept


def keyword_span(state: State, node: ast.stmt) -> Span:
    """The first line of a statement: a report shows the line, not the block."""
    span = state.source.span(node)
    if span.end_line == span.line:
        return span
    header = state.source.text.split("\n")[span.line - state.source.first_line].rstrip()
    return Span(span.file, span.line, span.column, span.line, len(header))


# -- branches ------------------------------------------------------------------------------------------------
def parse_if(state: State, node: ast.If) -> None:
    """A branch on a constant leaves only what is taken; otherwise both are parsed from the same bindings."""
    cond = condition(state, node.test)
    if isinstance(cond, Const):
        parse_block(state, node.body if cond.value else node.orelse)
        return
    span = keyword_span(state, node)
    before = dict(state.bindings)
    with state.block() as then:
        parse_block(state, node.body)
    after_then, state.bindings = state.bindings, before
    with state.block() as orelse:
        parse_block(state, node.orelse)
    state.bindings = merged(after_then, state.bindings, span)
    state.out.append(If(cond, tuple(then), tuple(orelse), loc=span))


def merged(left: Bindings, right: Bindings, span: Span) -> Bindings:
    """What names stand for after either of two ways through the program."""
    result: Bindings = {}
    for name in (*left, *(n for n in right if n not in left)):
        result[name] = merged_binding(left.get(name), right.get(name), span)
    return result


def merged_binding(left: Binding | None, right: Binding | None, span: Span) -> Binding:
    if left == right and left is not None:
        return left
    present = left if left is not None else right
    meanings = {b.meant if isinstance(b, Unsure) else b for b in (left, right) if b is not None}
    if len(meanings) > 1 or isinstance(present, Mixed) or present is None:
        return Mixed(span)
    earlier = next((b for b in (left, right) if isinstance(b, Unsure)), None)
    return Unsure(meanings.pop(), span if earlier is None else earlier.span, None)  # type: ignore[arg-type]


# -- loops ---------------------------------------------------------------------------------------------------
def parse_for(state: State, node: ast.For) -> None:
    if node.orelse:
        state.reject("LD106", "`else` of a `for` loop", node.orelse[0])
    iteration = parse_iterable(state, node.iter)
    if iteration is None:
        parse_body_of_refused(state, node)
        return
    span = keyword_span(state, node)
    if not isinstance(iteration.step, Const):
        step = frozen(state, iteration.step, "step")
        iteration = replace(iteration, step=step)
        is_moving = Apply(Op.NE, (step, Const(0, loc=span)), loc=span)
        state.out.append(Require(is_moving, "LD330", "the step of `range` is zero", loc=span))
    iteration = iteration.placed(span)
    index = state.indices.fresh(index_stem(node.target, iteration))
    before, uses = dict(state.bindings), len(state.array_uses)
    with state.block() as body:
        bind_targets(state, node.target, iteration.value(Index(index, loc=state.source.span(node.target))))
        parse_block(state, node.body)
    check_rebound(state, before, state.array_uses[uses:], span)
    iteration = with_settled_bounds(state, iteration, tuple(body))
    state.bindings = after_loop(state, before, iteration, written_arrays(tuple(body)), span)
    state.out.append(Loop(index, iteration.lower, iteration.upper, iteration.step, tuple(body), loc=span))


def with_settled_bounds(state: State, iteration: Iteration, body: tuple[Stmt, ...]) -> Iteration:
    """Bounds that the body changes are held in cells: they are evaluated once, before the first iteration."""
    written = written_arrays(body)

    def settled(bound: Expr, stem: str) -> Expr:
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
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple):
        for one, single in zip(*matched(state, target, value), strict=True):
            bind_targets(state, one, single)
    elif isinstance(value, tuple | ArrayName) or not isinstance(target, ast.Name):
        hint = "use one name for each value: `for i, x in enumerate(v)`"
        state.reject("LD107", f"`{ast.unparse(target)}` cannot be the variable of this loop", target, hint)
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                state.define(name.id, span)
    else:
        assign(state, target, value, span)


def parse_body_of_refused(state: State, node: ast.For) -> None:
    """Look through the body of a loop that cannot be translated, for further rejections."""
    with state.block():
        for name in ast.walk(node.target):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                state.define(name.id, state.source.span(name))
        parse_block(state, node.body)


def check_rebound(state: State, before: Bindings, uses: list[tuple[str, ArrayName]], span: Span) -> None:
    """A name bound to another array at the end of the body would be bound to it in the next iteration."""
    for name, binding in before.items():
        if binding != state.bindings.get(name) and (name, binding) in uses:
            message = f"`{name}` stands for different arrays from one iteration to the next"
            hint = "use one array and copy elements, or one array with a leading axis of 2"
            state.reject("LD116", message, span, hint)
            state.bindings[name] = binding


def after_loop(state: State, before: Bindings, iteration: Iteration, written: frozenset[str], span: Span) -> Bindings:
    """Names after a loop that wrote the cells `written`: what it assigned first has a value if it ran."""
    trips = constant_trips(iteration)
    if trips is not None and trips > 0:
        return dict(state.bindings)
    ran = stable_condition(state, iteration)
    result = dict(before)
    for name, binding in state.bindings.items():
        if name not in before and isinstance(binding, Cell | ArrayName):
            result[name] = Unsure(binding, span, ran)
        elif name not in before:
            result[name] = merged_binding(None, binding, span)
        elif isinstance(earlier := before[name], Unsure) and isinstance(binding, Cell):
            result[name] = either(earlier, ran) if binding.cell in written else earlier
        elif before[name] != binding:
            result[name] = merged_binding(before[name], binding, span)
    return result


def either(earlier: Unsure, ran: Expr | None) -> Unsure:
    """`earlier`, or a loop that ran if `ran`, gave the name its value."""
    if earlier.ran is None or ran is None:
        return replace(earlier, ran=None)
    return replace(earlier, ran=Apply(Op.OR, (earlier.ran, ran), loc=ran.loc))


def constant_trips(iteration: Iteration) -> int | None:
    match iteration.lower, iteration.upper, iteration.step:
        case Const(value=int(a)), Const(value=int(b)), Const(value=int(s)):
            return len(range(a, b, s))
        case _:
            return None


def stable_condition(state: State, iteration: Iteration) -> Expr | None:
    """That the loop ran, if it can still be said after it: bounds over names that are assigned once."""
    if not isinstance(iteration.step, Const):
        return None
    once = {cell for name, cell in state.cells.items() if state.survey.stores[name] == 1}
    for bound in (iteration.lower, iteration.upper):
        for e in subexprs(bound):
            if isinstance(e, Index) or (isinstance(e, Load) and e.access.array not in once):
                return None
    op = Op.LT if iteration.step.value > 0 else Op.GT
    return Apply(op, (iteration.lower, iteration.upper), loc=iteration.lower.loc)
