"""Random functions inside the program, with early returns and loops, that change arrays and make new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopdiff.fuzz.expressions import Chooser, Helper, HelperKind, Margin, NamesInScope

Emit = Callable[[int, str], None]


def draw_helpers(chooser: Chooser, scope: NamesInScope, emit: Emit) -> tuple[Helper, ...]:
    """Define up to two functions by `emit(depth, line)`, each able to call those before it."""
    found: tuple[Helper, ...] = ()
    for number in range(chooser.rng.choice((0, 0, 0, 1, 1, 2))):
        kinds = {"scalar": 2.0} if chooser.is_tidy else {"scalar": 2.0, "element": 2.0, "sweep": 1.0, "array": 0.7}
        kind: HelperKind = chooser.weighted(**kinds)  # pyright: ignore[reportAssignmentType]
        helper = Helper(f"h{number}", kind)
        Definition(chooser, helper, emit, scope_of(chooser, helper, scope)).write()
        found = (*found, helper)
        scope.helpers = found
    return found


def scope_of(chooser: Chooser, helper: Helper, around: NamesInScope) -> NamesInScope:
    """What the function may mention: its parameters, and now and then what stands around it."""
    inner = around.inner()
    if chooser.chance(0.6):
        inner.arrays.clear()
        inner.views.clear()
        inner.floats.clear()
    inner.floats += ["a", "c0"] if helper.kind == "scalar" else ["a"]
    inner.counters, inner.flags, inner.arguments = [], [], {}
    inner.complexes, inner.complex_locals = {}, ()
    if helper.kind != "scalar":
        inner.arrays["p"] = ("N",)
    if helper.kind == "element":
        inner.points, inner.integers = [Margin("g", "N")], ["g"]
    if helper.kind == "sweep":
        inner.arrays["q"] = ("N",)
    return inner


PARAMETERS: dict[HelperKind, str] = {
    "scalar": "a, c0=0.4", "element": "p, g, a=-0.3", "sweep": "p, q, a", "array": "p, a=0.7",
}  # fmt: skip


@dataclass(slots=True)
class Definition:
    """Writes one function."""

    chooser: Chooser
    helper: Helper
    emit: Emit
    scope: NamesInScope

    def number(self, scope: NamesInScope | None = None) -> str:
        return self.chooser.number(scope or self.scope, 1)

    def condition(self, scope: NamesInScope | None = None) -> str:
        return self.chooser.condition(scope or self.scope, 0)

    def write(self) -> None:
        self.emit(0, f"def {self.helper.name}({PARAMETERS[self.helper.kind]}):")
        match self.helper.kind:
            case "scalar":
                self.scalar()
            case "element":
                self.element()
            case "sweep":
                self.sweep()
            case "array":
                self.array()

    def leave(self, depth: int) -> None:
        """Perhaps a way out."""
        if self.chooser.chance(0.45):
            self.emit(depth, f"if {self.condition()}:")
            self.emit(depth + 1, f"return {self.number()}")

    def scalar(self) -> None:
        self.leave(1)
        if not self.chooser.is_tidy and self.chooser.chance(0.5):
            self.emit(1, f"o = {self.number()}")
            self.scope.floats.append("o")
            header = (
                "for d in range(3):",
                "while 0.2 < abs(o) < 9.0:",
                f"while 0.1 < abs(o) < 9.0 and {self.condition()}:",
            )
            self.emit(1, self.chooser.pick(header))
            self.emit(2, f"o = 0.5 * o{self.chooser.pick(('', ' * math.cos(a)'))}")
            if self.chooser.chance(0.4):
                self.emit(2, f"if {self.condition()}:")
                self.emit(3, self.chooser.pick(("break", "continue", f"return {self.number()}", "a = o")))
            self.emit(2, f"a = 0.9 * a + o * {self.chooser.pick(('0.3', 'c0'))}")
            self.emit(2, "o *= 0.6")
        elif self.chooser.chance(0.4):
            self.emit(1, f"a {self.chooser.pick(('=', '+=', '*='))} math.sin({self.number()})")
        self.emit(1, f"return {self.number()}")

    def element(self) -> None:
        self.leave(1)
        for _ in range(self.chooser.rng.randint(1, 2)):
            target = self.chooser.element(self.scope) or "p[g]"
            self.emit(1, f"{target} {self.chooser.pick(('=', '+=', '-='))} {self.number()}")
            self.leave(1)
        self.emit(1, f"return {self.number()}")

    def sweep(self) -> None:
        self.emit(1, f"o = {self.number()}")
        self.scope.floats.append("o")
        low, high = self.chooser.pick(((0, 0), (1, 0), (0, 1)))
        self.emit(1, f"for g in range({low}, len(p){' - 1' if high else ''}):")
        inner = self.scope.inner(points=[Margin("g", "N", low, high)], integers=["g"])
        if self.chooser.chance(0.4):
            self.emit(2, f"if {self.condition(inner)}:")
            self.emit(3, self.chooser.pick(("break", "continue", "return o", f"return {self.number(inner)}")))
        target = self.chooser.element(inner) or "p[g]"
        self.emit(2, f"{target} {self.chooser.pick(('=', '+='))} {self.number(inner)}")
        self.emit(2, f"o += 0.5 * {self.number(inner)}")
        self.emit(1, f"return {self.number()}")

    def array(self) -> None:
        if self.chooser.chance(0.25):
            self.emit(1, f"if {self.condition()}:")
            self.emit(2, self.chooser.pick(("return 0.5 * p", "return p.copy()", "return np.zeros_like(p)")))
        self.emit(1, "o = np.zeros_like(p)")
        self.emit(1, "for g in range(len(p)):")
        inner = self.scope.inner(points=[Margin("g", "N")], integers=["g"])
        if self.chooser.chance(0.3):
            self.emit(2, f"if {self.condition(inner)}:")
            self.emit(3, self.chooser.pick(("break", "continue", "return o")))
        self.emit(2, f"o[g] = {self.number(inner)}")
        if self.chooser.chance(0.25):
            self.emit(1, f"if {self.condition()}:")
            self.emit(2, self.chooser.pick(("o = 0.5 * o", "o = -o", "o += p")))
        self.emit(1, self.chooser.pick(("return o", "return o", "return o * a", "return o + p")))
