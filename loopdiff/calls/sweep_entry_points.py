"""Entry points that run sweeps, generated for one kind of call: buffers in, derivatives out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from loopdiff.calls.buffers import Order, Recipe
from loopdiff.calls.pullback import Pullback
from loopdiff.calls.runs import Arguments, ReverseRun, caller_results, make_arena
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import F32
from loopdiff.memory.arena import Workspace
from loopdiff.memory.recycled import GRADIENTS
from loopdiff.specialize.entry_points import Script
from loopdiff.specialize.gradients import record_type, scalar_of
from loopdiff.specialize.shortage import Needs
from loopdiff.specialize.specialization import Specialization, require_scalar_result
from loopdiff.specialize.units import Unit

GIVEN_BACK = "give(workspace)"


def gradient_entry(script: Script, run: ReverseRun) -> Callable[..., Any]:
    """Both sweeps: `(value, gradients)` of a function with one floating result."""
    script.needs = run.needs
    add_forward(script, run)
    seed = script.put("one", np.float32(1.0) if run.kinds == (F32,) else 1.0)
    gradients = add_reverse(script, run, [seed], may_be_given=False, after=given_back(run))
    if run.arena.decls:
        script.add(f"gradients = {gradients}", given_back(run))
        gradients = "gradients"
    script.add(f"return {finished(script, run.spec, 'value')}, {gradients}")
    return script.define("value_and_grad")


def one_pass_entry(script: Script, spec: Specialization, unit: Unit) -> Callable[..., Any]:
    """The one function: `(value, gradients)` of a function with one floating result."""
    params = spec.normal.params
    made = [unit.ls.array(n) for n in unit.ls.params[len(params) :]]
    own = [a for a in made if a.role != "gradient"]
    script.needs = Needs(spec.normal.name, params, (unit.ls,), has_tape=bool(own))
    names = [f"w{k}" for k, _ in enumerate(own)]
    arena = make_arena(spec.normal, params, own)
    add_workspace(script, names, lambda args: arena.take(arena.sizes(args)))
    given = {n: add_empty(script, spec.normal, params.index(n)) for n in spec.wrt if spec.normal.has_array(n)}
    script.put("give", arena.give)
    after = GIVEN_BACK if own else ""
    script.call("found", unit.call, ", ".join([*script.passed, *names, *given.values()]), unit.refuse, after)
    if own:
        script.add(after)
    returned = (f"found[{k}]" for k, _ in enumerate(spec.wrt, start=1))
    found = [given.get(n) or as_declared(script, spec, n, next(returned)) for n in spec.wrt]
    script.add(f"return {finished(script, spec, 'found[0]')}, {new_record(script, spec, found)}")
    return script.define("value_and_grad")


def add_empty(script: Script, normal: ir.LoopSet, position: int) -> str:
    """Make an array in rows like the argument at `position`, with anything in it."""
    script.put("empty", GRADIENTS.empty)
    kind = normal.array(normal.params[position]).type
    assert kind is not None
    buffer = f"b{position}"
    script.add(f"{buffer} = {made_like(script, position, 'empty', np.dtype(kind.slope.dtype), 'C')}")
    return buffer


def made_like(script: Script, position: int, make: str, dtype: np.dtype[Any], order: Order) -> str:
    """What makes an array of the shape and size of the argument at `position`."""
    like = script.passed[position]
    size = f"{like}.size * {dtype.itemsize}"
    return f"{make}({like}.shape, {script.put(f'dtype{position}', dtype)}, {order!r}, {size})"


def vjp_entry(script: Script, run: ReverseRun) -> Callable[..., Any]:
    """The forward sweep: `(value, pullback)`. The pullback refers to the arrays it needs, and marks what they hold."""
    if run.spec.options.of_loss:
        require_scalar_result(run.spec)
    script.needs = run.needs
    script.names |= {"Pullback": Pullback, "run": run}
    pull = script.put("pull", pull_function(run))  # refused, if at all, before anything is written
    add_forward(script, run)
    if run.has_array_result:
        kept = frozenset(range(len(run.kinds))) - (frozenset() if may_grow(run) else run.handed_out.keys())
        script.put("seen", lambda value: seen(run, value, kept))
        script.add("value, shapes = seen(value)")
        value, shapes = "value", "shapes"
    else:
        value = finished(script, run.spec, "value")
        shapes = script.put("shapes", tuple(() for _ in run.interface.results))
    workspace = "workspace" if run.arena.decls else "None"
    script.add(f"return {value}, Pullback(run, {pull}, {script.args_tuple}, {workspace}, {shapes})")
    return script.define("vjp")


def vjp(run: ReverseRun, args: Arguments) -> tuple[Any, Pullback]:
    """Value and pullback of arguments that were checked and prepared before."""
    return run.spec.once(f"vjp {run.label}", lambda: vjp_entry(Script.of_prepared(run.count_args), run))(*args)


def pull_function(run: ReverseRun) -> Callable[..., Any]:
    """The reverse sweep on buffers of its own: `pull(arrays, seeds, given, *args)` gives the gradients.

    `arrays` are those of the workspace, `seeds` has one value per floating result, `given` the cotangents of final
    values by the positions of their arguments.
    """
    script = Script.of_prepared(run.count_args)
    script.needs = run.needs
    seeds = [f"s{k}" for k in range(len(run.seed_names))]
    script.unpack(workspace_names(run), "arrays")
    script.unpack(seeds, "seeds")
    script.add(f"return {add_reverse(script, run, seeds, may_be_given=True)}")
    return script.define("pull", ("arrays", "seeds", "given"))


# -- pieces of entry points --------------------------------------------------------------------------------
def workspace_names(run: ReverseRun) -> list[str]:
    return [f"w{k}" for k in range(len(run.arena.decls))]


def add_forward(script: Script, run: ReverseRun) -> None:
    """Run the forward sweep: `value` and, if there is one, `workspace`."""
    unit, names = run.units.forward, workspace_names(run)
    if may_grow(run):
        from loopdiff.calls.growing import GrowingTapes

        script.names |= {"grow": GrowingTapes(run).forward, "give": run.arena.give}
        script.add(f"value, workspace = grow({script.args})")
        script.unpack(names, "workspace.arrays")
        return
    add_workspace(script, names, run.take)
    for place in run.handed_out.values():
        script.put("empty", run.memory.empty)
        array, order = names[place], run.arena.orders[place]
        dtype = script.put(f"dtype_of_{array}", run.arena.dtypes[place])
        script.add(f"{array} = empty({array}.shape, {dtype}, {order!r}, {array}.nbytes)")
    script.put("give", run.arena.give)
    passed = ", ".join([*script.passed, *names[: run.workspace_size]])
    script.call("value", unit.call, passed, unit.refuse, given_back(run))


def may_grow(run: ReverseRun) -> bool:
    """Whether tapes grow: where the forward sweep counts, in memory that nobody has limited, on the CPU."""
    options = run.spec.options
    return bool(run.units.plan.count_tapes) and options.is_for_cpu and options.memory_limit is None


def given_back(run: ReverseRun) -> str:
    """What gives the workspace back, if there is one: nobody wants what is in it any more."""
    return GIVEN_BACK if run.arena.decls else ""


def add_workspace(script: Script, names: list[str], take: Callable[[Arguments], Workspace]) -> None:
    """Take a `workspace` for the arguments, if there is one, whose arrays are `names`."""
    if names:
        script.put("take", take)
        script.add(f"workspace = take({script.args_tuple})")
        script.unpack(names, "workspace.arrays")


def add_reverse(script: Script, run: ReverseRun, seeds: list[str], may_be_given: bool, after: str = "") -> str:
    """Run the reverse sweep, `after` whose failure something is done; what makes the gradients."""
    names = workspace_names(run)
    kept, scratch = names[: run.workspace_size], names[run.workspace_size :]
    memory = run.memory
    script.names |= {"empty": memory.empty, "zeros": memory.zeros, "copy": memory.copy, "clear": memory.clear}
    buffers = [
        add_buffer(script, recipe, scratch, run, may_be_given and run.ls.params[recipe.position] in run.spec.written)
        for recipe in run.recipes
    ]
    script.add(*(f"{a} = copy({a})" for a in (script.passed[i] for i in run.disturbed)))
    unit = run.units.reverse
    script.call("slopes", unit.call, ", ".join([*script.passed, *kept, *seeds, *buffers]), unit.refuse, after)
    return collected(script, run, buffers)


def add_buffer(script: Script, recipe: Recipe, scratch: list[str], run: ReverseRun, may_be_given: bool) -> str:
    """Make the buffer of a recipe, which may start from one of the cotangents `given`."""
    place, number = recipe.place, recipe.position
    buffer = f"b{number}"
    if place is None:
        make = "empty" if recipe.is_started else "zeros"
        begin = f"{buffer} = {made_like(script, number, make, recipe.dtype, recipe.order)}"
    else:
        begin = f"{buffer} = {scratch[place]}" + ("" if recipe.is_started else f"; clear({buffer})")
    if not may_be_given:
        script.add(begin)
        return buffer
    begun = script.put(f"begun{number}", partial(recipe.begun, run.memory.cast))
    script.add(f"if {number} not in given: {begin}")
    script.add(f"else: {buffer} = {begun}({'None' if place is None else scratch[place]}, given[{number}])")
    return buffer


def collected(script: Script, run: ReverseRun, buffers: list[str]) -> str:
    """The gradients, from the buffers and the `slopes` by scalars that the reverse sweep returned."""
    spec, ls = run.spec, run.ls
    scalars = [s.name for s in ls.scalars if s.name in spec.wrt]
    known = dict(zip(run.buffers, buffers, strict=True))
    known |= {n: "slopes" if len(scalars) == 1 else f"slopes[{k}]" for k, n in enumerate(scalars)}
    return new_record(script, spec, [as_declared(script, spec, n, known[n]) for n in spec.wrt])


def as_declared(script: Script, spec: Specialization, name: str, found: str) -> str:
    """The derivative by an argument, of a scalar in its own type."""
    if spec.normal.has_array(name):
        return found
    script.put("scalar_of", scalar_of)
    return f"scalar_of({script.put(f'kind_{name}', spec.normal.scalar(name).type)}, {found})"


def new_record(script: Script, spec: Specialization, gradients: list[str]) -> str:
    script.names |= {"new": tuple.__new__, "Gradients": record_type("Gradients", spec.wrt)}
    record = f"new(Gradients, ({', '.join(gradients)},))"
    if spec.interface.is_direct:
        return record
    script.put("in_one_piece", spec.interface.maker_of_gradients(spec.wrt))
    return f"in_one_piece({record})"


def finished(script: Script, spec: Specialization, value: str) -> str:
    """The function's own result."""
    if spec.finish is None:
        return value
    script.put("finish", spec.finish)
    return f"finish({value})"


def seen(run: ReverseRun, value: Any, kept: Collection[int]) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Results with arrays among them as the caller sees them, and their shapes; the sweeps go on with those `kept`."""
    found = caller_results(run.spec, value, kept)
    return found, tuple(np.shape(v) for v in (found if run.interface.returns_tuple else (found,)))
