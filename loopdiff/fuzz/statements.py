"""Random statements, safe by construction: targets inside their arrays, values that grow slowly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from loopdiff.fuzz.arrays import full
from loopdiff.fuzz.complexes import Complexes
from loopdiff.fuzz.expressions import IndexedAxis, NamesInScope
from loopdiff.fuzz.program import RandomArgument


class Statements(Complexes):
    """Writes lines."""

    def __init__(self, rng: Random, is_tidy: bool, arguments: Sequence[RandomArgument]) -> None:
        super().__init__(rng, is_tidy)
        self.arguments = tuple(arguments)
        self.lines: list[str] = []
        self.margin = 1
        self.numbers: dict[str, int] = {}
        self.ended: dict[str, list[str]] = {}
        self.budget = 0
        self.early: str | None = None
        # How much of it is about whole arrays.
        self.wholeness = 0.0 if is_tidy else rng.choice((0.0, 1.5, 5.0, 12.0))

    # -- bookkeeping -----------------------------------------------------------------------------------------
    def emit(self, text: str) -> None:
        self.lines.append("    " * self.margin + text)
        self.budget -= 1

    def fresh(self, stem: str) -> str:
        """A name nobody has; for a loop variable sometimes one that another loop had."""
        if stem in self.ended and self.chance(0.3):
            return self.pick(self.ended[stem])
        number = self.numbers[stem] = self.numbers.get(stem, -1) + 1
        return f"{stem}{number}"

    # -- statements ------------------------------------------------------------------------------------------
    def simple(self, scope: NamesInScope) -> None:
        if scope.complexes and self.chance(0.4):
            self.emit(self.complex_statement(scope))
            return
        if self.is_tidy:
            self.assignment(scope)
            return
        kind = self.weighted(
            assign=10,
            whole=self.wholeness,
            swap=0.7,
            pair=0.7,
            rotate=0.6,
            counter=0.7,
            fresh=1.0,
            integers=0.3,
            flag=0.6,
        )
        match kind:
            case "whole":
                self.whole(scope)
            case "swap":
                a, b = self.element(scope), self.element(scope)
                if a and b:
                    self.emit(f"{a}, {b} = {b}, {a}")
                    return
                self.assignment(scope)
            case "pair":
                a, b = self.target(scope), self.target(scope)
                self.emit(f"{a}, {b} = {self.number(scope, 1)}, {self.number(scope, 1)}")
            case "flag" if scope.flags:
                self.emit(f"done = {self.pick(['done or ', 'not done and ', ''])}{self.condition(scope)}")
            case "rotate":
                names = [n for n in scope.floats if n in ("s", "t", "u")]
                self.rng.shuffle(names)
                values = [*names[1:], f"0.5 * {self.number(scope)}"]
                self.emit(f"{', '.join(names)} = {', '.join(values)}")
            case "counter" if scope.counters and scope.reaches("N"):
                step = f"({self.pick([1, 3])} * k + {self.rng.randint(0, 3)}) % N"
                found = f"({self.subscript(scope, 'N')}) % N"
                self.emit(f"k = {self.pick([step, step, 'N - 1 - k', found])}")
            case "fresh":
                name = self.fresh("r")
                self.emit(f"{name} = {self.number(scope)}")
                scope.floats.append(name)
            case "integers":
                self.integers(scope)
            case _:
                self.assignment(scope)

    def integers(self, scope: NamesInScope) -> None:
        """A change of an array that is no float."""
        kinds = [kind for kind in ("index", "counts", "mask") if scope.has(kind)]
        if not kinds or not scope.reaches("N"):
            self.assignment(scope)
            return
        at, other = self.subscript(scope, "N"), self.subscript(scope, "N")
        match self.pick(kinds):
            case "index":
                self.emit(f"idx[{at}] = {self.pick((f'(idx[{at}] + 1) % N', f'({other}) % N'))}")
            case "counts":
                self.emit(f"cnt[{at}] = {self.pick((f'(cnt[{at}] + 1) % 4', '1', f'cnt[{at}] // 2'))}")
            case _:
                self.emit(f"mask[{at}] = {self.condition(scope)}")

    def call_statement(self, scope: NamesInScope) -> None:
        """A call for its effect, or of a function that makes an array."""
        helper = self.pick(scope.helpers)
        vectors = [name for name, axes in scope.arrays.items() if axes == ("N",)]
        text = self.call(scope, helper, 1)
        if text is not None:
            self.emit(text)
        elif helper.kind == "array" and vectors:
            name = self.fresh("b")
            self.emit(f"{name} = {helper.name}({self.pick(vectors)}, {self.number(scope, 1)})")
            scope.arrays[name] = ("N",)
        else:
            self.simple(scope)

    def target(self, scope: NamesInScope) -> str:
        """What may be assigned: an element, or a local that is not the variable of a loop."""
        element = self.element(scope) if self.chance(0.7) else None
        return element or self.pick([n for n in scope.floats if n[0] in "stuecr"])

    def assignment(self, scope: NamesInScope) -> None:
        target, value = self.target(scope), self.number(scope)
        kind = self.weighted(
            plain=2.5, add=5, subtract=1.5, times=1, divide=0.5, largest=0.5, smallest=0.4, own=1.5, power=0.15
        )
        match kind:
            case "plain":
                self.emit(f"{target} = {value}")
            case "add":
                self.emit(f"{target} += {value}")
            case "subtract":
                self.emit(f"{target} -= {value}")
            case "times":
                self.emit(f"{target} *= {self.pick(['0.8', '1.1', f'(0.4 + 0.5 * math.sin({value}))'])}")
            case "divide":
                self.emit(f"{target} /= 1.2 + abs({value})")
            case "largest":
                self.emit(f"{target} = {self.pick(['max', 'np.maximum'])}({target}, {value})")
            case "smallest":
                self.emit(f"{target} = {self.pick(['min', 'np.minimum'])}({target}, {value})")
            case "power":
                self.emit(f"{target} **= 2")
            case _:
                self.emit(f"{target} = {self.pick(['0.5', '0.9', '1.0'])} * {target} {self.pick('+-*')} {value}")

    # -- whole arrays ----------------------------------------------------------------------------------------
    def whole(self, scope: NamesInScope) -> None:
        """A statement about whole arrays or slices of them."""
        kind = self.weighted(
            store=5,
            change=4,
            masked=2,
            scatter=2,
            number=2,
            fresh=1.5,
            view=1.5,
            swap=2,
            choice=0.5,
            parallel=0.7,
            rebind=0.7,
        )
        text: str | None = None
        match kind:
            case "store" | "change":
                text = self.stored(scope, is_changed=kind == "change")
            case "masked":
                text = self.masked(scope)
            case "scatter":
                text = self.scattered(scope)
            case "number":
                value = self.reduced(scope)
                text = value and self.pick((f"s += {value}", f"s = 0.7 * s - {value}"))
            case "parallel":
                text = self.parallel(scope)
            case "rebind" if scope.pairs:
                name = self.pick(self.pick(scope.pairs))
                value = self.array(scope, full(*scope.arrays[name]))
                text = value and f"{name} = 0.5 * {value}"
            case "swap" if scope.pairs:
                a, b = self.pick(scope.pairs)
                text = f"{a}, {b} = {b}, {a}"
            case _:
                text = self.renaming(scope, kind)
        if text:
            self.emit(text)
        else:
            self.assignment(scope)

    def stored(self, scope: NamesInScope, *, is_changed: bool) -> str | None:
        """An assignment to a slice, or an augmented one."""
        shape = self.shape(scope)
        target, value = self.part(scope, shape), self.operand(scope, shape, 2)
        if target is None:
            return None
        if target.endswith(".T") or (target.isidentifier() and not is_changed):
            target += "[:]"
        if is_changed:
            times = f"{target} *= 0.5 + 0.4 * np.cos({value})"
            return self.pick((f"{target} += {value}", f"{target} -= {value}", times, f"{target} /= 1.4 + abs({value})"))
        return f"{target} = {value}"

    def parallel(self, scope: NamesInScope) -> str | None:
        """Two slices at once: both right sides are views that the first assignment may change."""
        shape = self.shape(scope)
        names = [self.part(scope, shape) for _ in range(2)]
        a, b = (f"{n}[:]" if n and (n.isidentifier() or n.endswith(".T")) else n for n in names)
        value = self.array(scope, shape, 1)
        return a and b and value and f"{a}, {b} = {b}, {self.pick((a, value))}"

    def masked(self, scope: NamesInScope) -> str | None:
        """A statement about the elements that a mask chooses."""
        name = self.pick(list(scope.arrays))
        shape = full(*scope.arrays[name])
        other = self.part(scope, shape) or name
        test = self.test(scope, shape)
        if not re.search(rf"\b({'|'.join((*scope.arrays, *scope.views))}|mask)\b", test):
            return None
        if self.chance(0.4):
            mask = self.fresh("o")
            self.emit(f"{mask} = {test}")
            test = mask
        forms = (
            f"{name}[{test}] = {self.leaf(scope)}",
            f"{name}[{test}] *= 0.7",
            f"{name}[{test}] += {other}[{test}]",
            f"{name}[{test}] = 0.5 * {other}[{test}] + {self.leaf(scope)}",
            f"s += 0.2 * np.sum({other}[{test}])",
        )
        return self.pick(forms)

    def scattered(self, scope: NamesInScope) -> str | None:
        """A statement about the elements that an array of subscripts names, some of them twice."""
        vectors = [name for name, axes in scope.arrays.items() if axes == ("N",)]
        indices = [a.name for a in scope.arguments.values() if a.kind == "index"]
        value = self.array(scope, full("N"), 1)
        if not vectors or not indices or value is None:
            return None
        target, at = self.pick(vectors), self.pick(indices)
        scalar = self.leaf(scope)
        forms = (
            f"np.add.at({target}, {at}, {value})",
            f"np.subtract.at({target}, {at}, {self.pick((value, scalar))})",
            f"{target}[{at}] = {self.pick((value, value, scalar))}",
            f"{target}[{at}] += {value}",
            f"np.add.at({target}, {at}[1:], ({value})[:-1])",
        )
        return self.pick(forms)

    def renaming(self, scope: NamesInScope, kind: str) -> str | None:
        """A new name: for a new array, for a view, or for one of two arrays."""
        shape = self.shape(scope)
        axes: tuple[IndexedAxis, ...] = tuple(s.axis for s in shape)
        match kind:
            case "fresh":
                value = self.array(scope, shape)
                value = value and self.pick((f"1.0 * {value}", f"({value}).copy()", f"np.copy({value})"))
                name = self.fresh("b")
            case "view":
                value, name = self.part(scope, shape), self.fresh("q")
            case _:
                one, other, name = self.part(scope, shape), self.part(scope, shape), self.fresh("q")
                value = one and f"{one} if {self.condition(scope, 0)} else {other}"
        if value is None:
            return None
        if shape == full(*axes):
            scope.arrays[name] = axes
        else:
            scope.views[name] = shape
        return f"{name} = {value}"

    def pair_of_names(self, scope: NamesInScope) -> None:
        """Two names for arrays of one shape, to be swapped: known ones or new ones."""
        a = self.pick(list(scope.arrays))
        b = self.pick([name for name, axes in scope.arrays.items() if axes == scope.arrays[a]])
        if a != b and self.chance(0.35):
            scope.pairs.append((a, b))
            return
        names = self.fresh("q"), self.fresh("q")
        second = self.pick((b, f"{a}.copy()", f"np.zeros_like({a})"))
        self.emit(f"{', '.join(names)} = {a}, {second}")
        scope.arrays |= dict.fromkeys(names, scope.arrays[a])
        scope.pairs.append(names)
