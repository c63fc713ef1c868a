"""Random statements that bind names to arrays in branches, loops and helpers, swap them, and read them afterwards."""

from __future__ import annotations

from loopdiff.fuzz.arrays import full
from loopdiff.fuzz.expressions import IndexedAxis, NamesInScope
from loopdiff.fuzz.statements import Statements


class BindingStatements(Statements):
    """Writes statements about what a name is bound to. An array keeps its shape whatever way is taken."""

    def whole(self, scope: NamesInScope) -> None:
        if self.chance(0.25):
            self.rebinding(scope)
        else:
            super().whole(scope)

    def bound_array(self, scope: NamesInScope, axes: tuple[IndexedAxis, ...], depth: int = 1) -> str:
        """An expression that makes a new array, or another name for one that there is."""
        names = [n for n, known in scope.arrays.items() if known == axes]
        name = self.pick(names)
        helper = next((h.name for h in scope.helpers if h.kind == "array"), None)
        match self.weighted(made=5, same=1, zeros=0.7, view=0.7, called=2.0 * (helper is not None), chosen=0.6):
            case "made":
                return f"{self.pick(('2.0', '0.5', '-1.0'))} * {self.array(scope, full(*axes), depth) or name}"
            case "same":
                return self.pick((name, f"{name}.copy()"))
            case "zeros":
                return f"np.zeros_like({name})"
            case "called" if axes == ("N",):
                return f"{helper}({name}, {self.number(scope, 0)})"
            case "chosen":
                return f"{name} if {self.condition(scope, 0)} else {self.pick(('0.7 * ', ''))}{self.pick(names)}"
            case _:
                return f"{name}[::-1]"

    def rebinding(self, scope: NamesInScope) -> None:
        """Bind a name, new or not, to an array: straight on, in branches, or in a loop that other iterations read."""
        known = [(n, axes) for n, axes in scope.arrays.items() if self.may_be_bound(n)]
        old, axes = self.pick(known or list(scope.arrays.items()))
        kind = self.weighted(branches=4, once=3, loop=2.5, plain=1, swap=1.5 if len(known) > 1 else 0)
        name = self.fresh("X") if (kind == "branches" and self.chance(0.6)) or not known else old
        if name != old:
            kind = "branches"
        match kind:
            case "branches":
                self.in_branches(scope, name, axes)
            case "once":
                self.emit(f"if {self.condition(scope)}:")
                self.bind(scope, name, axes)
            case "loop":
                self.in_loop(scope, name, axes)
            case "swap":
                other = self.pick([n for n, a in known if a == axes and n != name] or [self.bound_array(scope, axes)])
                targets = f"{name}, {other}" if other in scope.arrays else f"{name}, {self.new_name(scope, axes)}"
                self.emit(f"{targets} = {other}, {name}")
            case _:
                self.emit(f"{name} = {self.bound_array(scope, axes, 2)}")
        scope.arrays[name] = axes

    def new_name(self, scope: NamesInScope, axes: tuple[IndexedAxis, ...]) -> str:
        name = self.fresh("X")
        scope.arrays[name] = axes
        return name

    def may_be_bound(self, name: str) -> bool:
        """Arguments, locals that were computed; not rows of loops, nor what helpers refer to."""
        return name not in ("p", "q", "w") and name[0] in "xyzABbXq"

    def in_branches(self, scope: NamesInScope, name: str, axes: tuple[IndexedAxis, ...]) -> None:
        self.emit(f"if {self.condition(scope)}:")
        self.bind(scope, name, axes)
        if self.chance(0.25):
            self.emit(f"elif {self.condition(scope)}:")
            self.bind(scope, name, axes)
        self.emit("else:")
        self.bind(scope, name, axes)

    def in_loop(self, scope: NamesInScope, name: str, axes: tuple[IndexedAxis, ...]) -> None:
        """A short loop that binds the name anew each time, perhaps not in every iteration."""
        step = self.fresh("t")
        self.emit(f"for {step} in range({self.pick(('2', '3', '1', '0', 'M'))}):")
        self.margin += 1
        inner = scope.inner(integers=[step])
        if self.chance(0.4):
            self.emit(f"if {self.condition(inner)}:")
            self.bind(inner, name, axes)
        else:
            self.emit(f"{name} = {self.bound_array(inner, axes)}")
        if self.chance(0.3):
            self.emit(f"if {self.condition(inner)}:")
            self.emit("    break")
        self.margin -= 1

    def bind(self, scope: NamesInScope, name: str, axes: tuple[IndexedAxis, ...]) -> None:
        """The body of a branch: the name bound, and sometimes changed at once."""
        self.margin += 1
        self.emit(f"{name} = {self.bound_array(scope, axes)}")
        if self.chance(0.25):
            self.emit(self.pick((f"{name} += 0.3", f"{name} *= {self.number(scope, 0)}", f"{name} = -{name}")))
        self.margin -= 1
