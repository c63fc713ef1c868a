"""Random expressions and statements of complex numbers, away from branch cuts and poles."""

from __future__ import annotations

from loopdiff.fuzz.arrays import Arrays, full
from loopdiff.fuzz.expressions import NamesInScope

UNARY = (
    "(-{})", "({}).conjugate()", "np.conj({})", "(1j * {})", "({}) ** 2", "np.square({})", "np.exp(0.3j * {})",
    "np.sin(0.3 * {})", "np.cos(0.4 * {})", "({} / (1.5 + abs({})))", "np.sqrt(3.0 + {} / (1.0 + abs({})))",
    "np.log(2.5 + {} / (1.0 + abs({})))", "((0.6 - 0.3j) * {})", "np.tanh(0.3 * {})", "np.exp(-0.2 * {})",
    "(2.0 + {} / (1.0 + abs({}))) ** -1", "(0.5 / (3.0 + 1j * {} / (1.0 + abs({}))))",
)  # fmt: skip
BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} * np.conj({}))", "({} / (2.0 + abs({})))")
TO_REAL = ("abs({})", "({}).real", "({}).imag", "np.real({})", "np.angle(2.5 + {} / (1.0 + abs({})))")
TO_REAL_ARRAYS = ("abs({})", "np.real({})", "np.imag({})", "np.abs({}) ** 2")


class Complexes(Arrays):
    """Draws what is complex, and real numbers made of it."""

    def complex_element(self, scope: NamesInScope) -> str | None:
        known = [n for n, axes in scope.complexes.items() if all(scope.reaches(a) for a in axes)]
        if not known:
            return None
        name = self.pick(known)
        return f"{name}[{', '.join(self.subscript(scope, a) for a in scope.complexes[name])}]"

    def complex_number(self, scope: NamesInScope, depth: int = 2) -> str:
        match self.weighted(leaf=2, unary=2 * (depth > 0), binary=3 * (depth > 0), pair=0.8 * (depth > 0)):
            case "unary":
                inner = self.complex_number(scope, depth - 1)
                return self.pick(UNARY).format(inner, inner)
            case "binary":
                first = self.complex_number(scope, depth - 1)
                second = self.number(scope, 0) if self.chance(0.3) else self.complex_number(scope, depth - 1)
                return self.pick(BINARY).format(first, second)
            case "pair":
                return f"complex({self.number(scope, 0)}, {self.number(scope, 0)})"
            case _:
                element = self.complex_element(scope) if self.chance(0.7) else None
                return element or self.pick((*scope.complex_locals, "(0.3 - 0.4j)"))

    def number(self, scope: NamesInScope, depth: int = 2) -> str:
        if depth and scope.complex_locals and self.chance(0.2):
            inner = self.complex_number(scope, depth - 1)
            return self.pick(TO_REAL).format(inner, inner)
        return super().number(scope, depth)

    def complex_array(self, scope: NamesInScope, depth: int = 1) -> str:
        """A complex expression of one element for each of an axis."""
        name = self.pick([n for n, axes in scope.complexes.items() if axes == ("N",)])
        found = self.pick((name, name, f"{name}[::-1]"))
        if not depth:
            return found
        found = self.pick(UNARY).format(found, found) if self.chance(0.5) else found
        other = self.complex_array(scope, 0) if self.chance(0.5) else self.array(scope, full("N"), 1)
        return self.pick(BINARY).format(found, other or "1j")

    def complex_statement(self, scope: NamesInScope) -> str:
        """A line that assigns something complex, or something real made of it."""
        kind = self.weighted(element=4, local=2, whole=1.5 * (not self.is_tidy), reduced=0.7, real=1.0)
        element = self.complex_element(scope)
        value = self.complex_number(scope)
        match kind:
            case "element" if element:
                forms = (f"{element} = {value}", f"{element} += {value}", f"{element} -= {value}")
                scaled = f"{element} = 0.6 * {element} + 0.5 * {value}"
                return self.pick((*forms, scaled, f"{element} *= 0.8 * np.exp(1j * abs({value}))"))
            case "whole":
                name, of = (
                    self.pick([n for n, axes in scope.complexes.items() if axes == ("N",)]),
                    self.complex_array(scope),
                )
                return self.pick((f"{name}[:] = {of}", f"{name} += {of}", f"{name}[1:] = ({of})[:-1]"))
            case "reduced":
                return f"zs = 0.5 * zs + 0.2 * np.sum({self.complex_array(scope)})"
            case "real":
                target, of = self.part(scope, full("N")), self.complex_array(scope)
                if target is not None:
                    return f"{target}{'[:]' * target.isidentifier()} = {self.pick(TO_REAL_ARRAYS).format(of)}"
                return f"s += 0.2 * np.sum(abs({of}))"
            case _:
                return self.pick(
                    (f"zs = 0.5 * zs + {value}", f"zs *= 0.7 * np.exp(1j * abs({value}))", f"zs -= {value}")
                )
