"""Random expressions over whole arrays: slices, views, rows and transposes, masks, gathers, reductions, products.

Extents that meet are equal for all sizes: an array has a `Shape` that says how many elements its slices lack.
"""

from __future__ import annotations

from loopdiff.fuzz.expressions import EVERY_OTHER, Chooser, IndexedAxis, IndexSpan, NamesInScope, Shape

UNARY = (
    "np.sin({})", "np.tanh({})", "(-{})", "np.exp(0.3 * np.sin({}))", "np.sqrt(0.3 + {} * {})", "abs({})", "({}) ** 2",
    "np.arctan({})", "np.square({})", "(0.4 + abs({})) ** 1.5", "np.floor(1.7 * {})", "np.clip({}, -0.9, 0.8)",
    "(0.5 * {})", "np.log1p(abs({}))",
)  # fmt: skip
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "({} + {})", "({} * {})", "({} / (1.3 + abs({})))", "np.maximum({}, {})",
    "np.minimum({}, {})", "np.hypot(1.1 + abs({}), {})", "(0.6 + abs({})) ** np.tanh({})",
)  # fmt: skip


def full(*axes: IndexedAxis) -> Shape:
    return tuple(IndexSpan(axis) for axis in axes)


class Arrays(Chooser):
    """Draws expressions over arrays; None where nothing in scope has the shape.

    Now and then extents differ after all, or there is nothing to find the largest of: what raises must raise.
    """

    def shape(self, scope: NamesInScope) -> Shape:
        """Of one axis mostly, of two if there are matrices."""
        if self.chance(0.25) and any(axes == ("M", "N") for axes in scope.arrays.values()):
            rows, columns = IndexSpan("M", self.pick((0, 0, 0, 1))), IndexSpan("N", self.pick((0, 0, 1)))
            return (columns, rows) if self.chance(0.2) else (rows, columns)
        axis: IndexedAxis = "M" if self.chance(0.15) and any("M" in axes for axes in scope.arrays.values()) else "N"
        return (IndexSpan(axis, self.pick((0, 0, 0, 1, 2, EVERY_OTHER))),)

    # -- parts of arrays -------------------------------------------------------------------------------------
    def section(self, span: IndexSpan, is_plain: bool = False) -> str:
        """A slice of a whole axis; `is_plain`: in ascending order."""
        if span.trim == EVERY_OTHER:
            return self.pick(("::2", "::-2"))
        low = self.rng.randint(0, span.trim)
        found = f"{low or ''}:{low - span.trim or ''}"
        downward = {0: ("::-1",), 1: ("-2::-1", ":0:-1"), 2: ("-2:0:-1",)}[span.trim]
        return found if is_plain or self.chance(0.75) else self.pick(downward)

    def parts(self, scope: NamesInScope, shape: Shape) -> list[str]:
        """Views of that shape, one of each array."""
        axes = tuple(s.axis for s in shape)
        sections = ", ".join(self.section(s) for s in shape)
        is_whole = not any(s.trim for s in shape)
        found = [name for name, known in scope.views.items() if known == shape]
        for name, known in scope.arrays.items():
            if known == axes:
                found.append(name if is_whole and self.chance(0.6) else f"{name}[{sections}]")
            elif known == axes[::-1]:
                found.append(f"{name}.T" if is_whole else f"{name}.T[{sections}]")
            elif len(known) == 2 and len(axes) == 1 and known[1] == axes[0] and scope.reaches(known[0]):
                at = self.subscript(scope, known[0])
                found.append(f"{name}[{at}]" if is_whole else f"{name}[{at}, {sections}]")
            elif len(known) == 2 and len(axes) == 1 and known[0] == axes[0] and scope.reaches(known[1]):
                found.append(f"{name}[{sections}, {self.subscript(scope, known[1])}]")
        return found

    def vectors(self, scope: NamesInScope) -> list[str]:
        """Arrays of N elements, rows and reversed ones among them."""
        found = self.parts(scope, full("N"))
        return found if self.chance(0.3) else super().vectors(scope)

    def part(self, scope: NamesInScope, shape: Shape) -> str | None:
        """What may be written: a view of that shape."""
        found = self.parts(scope, shape)
        return self.pick(found) if found else None

    def gathered(self, scope: NamesInScope, span: IndexSpan) -> str | None:
        """Elements by an array of subscripts."""
        vectors = [name for name, axes in scope.arrays.items() if axes == ("N",)]
        indices = [a.name for a in scope.arguments.values() if a.kind == "index"]
        if span.axis != "N" or not vectors or not indices:
            return None
        at = self.pick(indices)
        return f"{self.pick(vectors)}[{at if not span.trim else f'{at}[{self.section(span)}]'}]"

    # -- expressions -----------------------------------------------------------------------------------------
    def array(self, scope: NamesInScope, shape: Shape, depth: int = 2) -> str | None:
        """An expression of exactly that shape."""
        kind = self.weighted(leaf=2, unary=2, binary=4, select=0.7, product=0.5) if depth else "leaf"
        inner = None if kind in ("leaf", "product") else self.array(scope, shape, depth - 1)
        if kind == "product" or (kind == "leaf" and self.chance(0.15)):
            found = self.contracted(scope, shape)
            if found:
                return found
        if inner is None:
            found = self.gathered(scope, shape[0]) if len(shape) == 1 and self.chance(0.3) else None
            return found or self.chosen(scope, shape)
        if kind == "unary":
            return self.pick(UNARY).format(inner, inner)
        other = self.operand(scope, shape, depth - 1)
        if kind == "select":
            return f"np.where({self.test(scope, shape)}, {inner}, {other})"
        first, second = (inner, other) if self.chance(0.7) else (other, inner)
        return self.pick(BINARY).format(first, second)

    def chosen(self, scope: NamesInScope, shape: Shape) -> str | None:
        """A view of that shape, now and then one of two."""
        view = self.part(scope, shape)
        if view is None or self.is_tidy or not self.chance(0.1):
            return view
        return f"({view} if {self.condition(scope, 0)} else {self.pick(('0.7 * ', ''))}{self.part(scope, shape)})"

    def operand(self, scope: NamesInScope, shape: Shape, depth: int) -> str:
        """An expression that broadcasts to that shape; a call may change what stands before it."""
        found: str | None = None
        rows, calls = 1.5 * (len(shape) == 2), 0.7 * bool(scope.helpers)
        match self.weighted(same=5, scalar=2, row=rows, column=rows, call=calls):
            case "call":
                found = self.call(scope, self.pick(scope.helpers), 0)
            case "same":
                found = self.array(scope, self.shape(scope) if self.chance(0.01) else shape, depth)
            case "row":
                found = self.array(scope, shape[1:], 0)
            case "column":
                column = self.array(scope, shape[:1], 0)
                found = None if column is None else f"({column})[:, None]"
            case _:
                pass
        return found or self.leaf(scope)

    def contracted(self, scope: NamesInScope, shape: Shape) -> str | None:
        """A product or a reduction over an axis that has that shape."""
        matrices = [name for name, axes in scope.arrays.items() if axes == ("M", "N")]
        if any(s.trim for s in shape) or not matrices:
            return None
        a, b = self.pick(matrices), self.pick(matrices)
        rows, columns = self.array(scope, full("M"), 0), self.array(scope, full("N"), 0)
        match tuple(s.axis for s in shape):
            case ("M",):
                forms = [f"np.sum({a}, axis=1)", f"{a}.mean(axis=-1)", f"np.einsum('ij,ij->i', {a}, {b})"]
                forms += [f"({a} @ {columns})", f"np.dot({a}, {columns})"] if columns else []
                forms += [f"np.max({a}, axis=1)"] if scope.reaches("N") else []
                forms += [f"({a} - np.sum({b}, axis=1, keepdims=True)).sum(axis=1)"]
            case ("N",):
                indices = [x.name for x in scope.arguments.values() if x.kind == "index"]
                if indices and scope.reaches("M") and self.chance(0.3):
                    return f"{a}[{self.subscript(scope, 'M')}, {self.pick(indices)}]"
                forms = [f"{a}.sum(axis=0)", f"np.einsum('ij,ij->j', {a}, {b})"]
                forms += [f"({rows} @ {a})", f"({a}.T @ {rows})", f"np.einsum('i,ij->j', {rows}, {a})"] if rows else []
                forms += [f"np.min({a}, axis=0)", f"np.mean({a}, axis=0)"] if scope.reaches("M") else []
            case ("M", "N") if rows and columns:
                forms = [f"np.outer({rows}, {columns})", f"({a} @ {b}.T @ {a})"]
                forms += [f"np.reshape({a}, (N, M)).T", f"({columns}).reshape(1, -1) * {a}.reshape(-1).reshape(M, N)"]
                forms += [f"np.reshape({columns} * {a}, ({a}.shape[0], {a}.shape[1]))"]
            case _:
                return None
        return f"(0.2 * {self.pick(forms)})"

    def test(self, scope: NamesInScope, shape: Shape) -> str:
        """Booleans of that shape, or one."""
        masks = [a.name for a in scope.arguments.values() if a.kind == "mask"]
        value = self.array(scope, shape, 0)
        if value is None:
            return self.condition(scope, 0)
        found = f"({value} {self.pick(('>', '<', '<='))} {self.pick(('0.1', '-0.3', self.leaf(scope)))})"
        match self.weighted(plain=5, inverted=1, joined=1, mask=2 * (shape == full("N") and bool(masks))):
            case "mask":
                return self.pick(masks)
            case "inverted":
                return f"(~{found})"
            case "joined":
                return f"({found} {self.pick('&|')} ({value} != 0.25))"
            case _:
                return found

    # -- numbers ---------------------------------------------------------------------------------------------
    def number(self, scope: NamesInScope, depth: int = 2) -> str:
        if depth and not self.is_tidy and scope.arrays and self.chance(0.06):
            return self.reduced(scope) or super().number(scope, depth)
        return super().number(scope, depth)

    def condition(self, scope: NamesInScope, depth: int = 1) -> str:
        if depth and not self.is_tidy and scope.arrays and self.chance(0.04):
            shape = full("N")
            if self.array(scope, shape, 0):
                return f"np.{self.pick(('any', 'all'))}({self.test(scope, shape)})"
        return super().condition(scope, depth)

    def reduced(self, scope: NamesInScope) -> str | None:
        """A number made of a whole array."""
        shape = self.shape(scope)
        value, other = self.array(scope, shape, 1), self.array(scope, shape, 0)
        if value is None or other is None:
            return None
        forms = [f"np.sum({value})", f"({value}).sum()", f"np.prod(0.8 + 0.2 * np.tanh({value}))"]
        forms += [f"{other}[{other} > 0.2].sum()", f"np.count_nonzero({value} > 0.1)"]
        if len(shape) == 1:
            forms += [f"({value} @ {other})", f"np.dot({other}, {value})", f"np.einsum('i,i->', {value}, {other})"]
        is_reached = not any(s.trim > 0 for s in shape) and all(scope.reaches(s.axis) for s in shape)
        if is_reached or self.chance(0.05):
            forms += [
                f"np.max({value})",
                f"np.min({value})",
                f"({value}).mean()",
                f"{other}.ravel()[np.argmax({value})]",
            ]
        return f"(0.3 * {self.pick(forms)})"
