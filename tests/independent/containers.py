"""Compose programs whose arguments, names and helpers hold structures: tuples, lists, dictionaries and records.

The leaves of a structure are names in scope, spelt `p["w"]` or `s.h`, so that every statement may use them.
"""

from __future__ import annotations

import ast
import random
from typing import Any

import numpy as np

from .compose import Composer, data, indented
from .draw import INT, REAL, Helper, Kind, Scope
from .expected import Program
from .forms import FORMS, MAPS, NONE, POOLS, SQUARE, VECTOR, WITH_ALL, Form, given, prefix
from .statements import Lines


def targets_of(lines: Lines) -> set[str]:
    """What statements bind or change, as it is spelt."""
    found: set[str] = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {ast.unparse(part).replace("'", '"') for part in parts}
    return found


class Containers(Composer):
    """Draws statements and helpers about structures, and whole programs."""

    # scope

    def put(self, scope: Scope, name: str, kind: Kind, is_fixed: bool = False) -> None:
        """Bind a name, with all that is in what it holds."""
        for old in [other for other in scope.kinds if other.startswith((f"{name}[", f"{name}."))]:
            del scope.kinds[old]
            scope.fixed -= {old}
        scope.kinds[name] = kind
        if isinstance(kind, Form):
            for path, part in kind.parts:
                self.put(scope, name + path, part, is_fixed)
                if is_fixed or kind.is_frozen:
                    scope.fixed |= {name + path}

    def structures(self, scope: Scope, *makers: str) -> list[str]:
        kinds = scope.kinds.items()
        return [name for name, kind in kinds if isinstance(kind, Form) and (not makers or kind.maker in makers)]

    def form(self, scope: Scope, name: str) -> Form:
        kind = scope.kinds[name]
        assert isinstance(kind, Form)
        return kind

    def name_for(self, scope: Scope, form: Form, rebind: float = 0.65) -> str:
        old = [name for name in scope.of(form) if name not in scope.fixed and name.isidentifier()]
        if old and self.chance(rebind):
            return self.recent(old)
        pool = [name for name in POOLS[prefix(form)] if name not in scope.kinds]
        if pool:
            return pool[0]
        self.fresh += 1
        return f"z{self.fresh}"

    # expressions

    def value(self, scope: Scope, kind: Kind) -> str:
        if isinstance(kind, Form):
            names = scope.of(kind)
            return self.recent(names) if names and self.chance(0.4) else self.built(scope, kind)
        return self.array(scope, kind, 1) if kind.sort == "array" else self.real_number(scope)

    def real_number(self, scope: Scope) -> str:
        """A floating number: integers would make leaves of another type."""
        text = self.real(scope, 1)
        names = [*scope.sort("int"), *scope.sort("index")]
        return f"1.0 * {text}" if text.lstrip("-").isdigit() or text in names else text

    def built(self, scope: Scope, form: Form) -> str:
        parts = [self.value(scope, kind) for kind in form.kinds]
        return self.put_together(form, parts)

    def put_together(self, form: Form, parts: list[str]) -> str:
        match form.maker:
            case "dict":
                items = [f"{path[1:-1]}: {part}" for (path, _), part in zip(form.parts, parts, strict=True)]
                return f"{{{', '.join(items)}}}"
            case "list":
                return f"[{', '.join(parts)}]"
            case "tuple":
                return f"({', '.join(parts)})"
            case maker:
                by_name = [f"{path[1:]}={part}" for (path, _), part in zip(form.parts, parts, strict=True)]
                return f"{maker}({', '.join(by_name if self.chance(0.3) else parts)})"

    def reduction(self, scope: Scope) -> str:
        names = [n for n in self.structures(scope, "list", "tuple") if self.form(scope, n).is_uniform]
        names = [n for n in names if self.form(scope, n).kinds[0] in (VECTOR, REAL, SQUARE)]
        if names and self.chance(0.25):
            name = self.recent(names)
            one = "v1" if self.form(scope, name).kinds[0] == REAL else "(v1 * v1).sum()"
            folded = self.rng.choice(
                ["sum(one for v1 in name)", "max([one for v1 in name])", "sum([one for v1 in name])"]
            )
            return folded.replace("one", one).replace("name", name)
        names = [
            n for n in self.structures(scope, "dict") if all(k.sort != "structure" for k in self.form(scope, n).kinds)
        ]
        if names and self.chance(0.25):
            return f"sum(np.sum(v1 * v1) for v1 in {self.recent(names)}.values())"
        return super().reduction(scope)

    def special_forms(self, scope: Scope, kind: Kind, depth: int) -> list[Any]:
        forms = super().special_forms(scope, kind, depth)
        forms += self.of_several(scope, kind)
        if any(helper.name == "apply" for helper in self.helpers) and kind == VECTOR:
            functions = ["np.tanh", "np.sin", f"lambda u1: u1 * {self.real_leaf(scope)}", "lambda u1: u1 * u1"]
            functions += [h.name for h in self.helpers if h.parameters == (VECTOR,) and h.returns == (VECTOR,)]
            forms.append((3, lambda: f"apply({self.rng.choice(functions)}, {self.array_leaf(scope, kind)})"))
        return forms

    def of_several(self, scope: Scope, kind: Kind) -> list[Any]:
        """Parts of lists that are put together or taken from the end, and calls with all that is in a structure."""
        lists = [n for n in self.structures(scope, "list", "tuple") if set(self.form(scope, n).kinds) == {kind}]
        forms: list[Any] = []
        if lists:
            one, other = self.recent(lists), self.recent(lists)
            plus = f"({one} + {other})" if self.form(scope, one).maker == self.form(scope, other).maker else one
            forms += [(0.7, lambda: f"{one}[-1]"), (0.5, lambda: f"{plus}[{len(self.form(scope, one).parts) - 1}]")]
            forms += [(0.4, lambda: f"{one}[::-1][0]"), (0.4, lambda: f"sum([v1 for v1 in {one}[1:]], {other}[0])")]
            if any(helper.name == "total" for helper in self.helpers) and kind == VECTOR:
                forms.append((1.5, lambda: f"total(*{one}{self.rng.choice(['', f', *{other}', ', weight=0.3'])})"))
        dictionaries = scope.of(FORMS["p"][1])
        if any(helper.name == "mix" for helper in self.helpers) and kind == VECTOR and dictionaries:
            forms.append((1.5, lambda: f"mix(**{self.recent(dictionaries)})"))
        return forms

    # statements

    def statement(self, scope: Scope, depth: int) -> Lines:
        """A statement that changes no part of what cannot be changed."""
        for _ in range(8):
            known = scope.inner()
            lines = self.about_structures(scope, depth) if self.chance(0.45) else super().statement(scope, depth)
            if not any(t in scope.kinds and t in scope.fixed and not t.isidentifier() for t in targets_of(lines)):
                return lines
            scope.kinds, scope.fixed = known.kinds, known.fixed
        return ["pass"]

    def about_structures(self, scope: Scope, depth: int) -> Lines:
        forms: list[Any] = [(5, self.bind_structure), (4, self.unpack), (3, self.renew), (2, self.exchange)]
        forms += [(1.5, self.build_list), (1.5, self.store_leaves)]
        forms += [(2.5, self.comprehend), (1.5, self.change_leaf), (0.1, self.choose_structure)]
        if any(isinstance(kind, Form) for h in self.helpers for kind in h.returns):
            forms.append((6, self.call_for_structure))
        if depth > 0 and self.budget > 0:
            forms += [(3, lambda scope: self.go_through(scope, depth)), (1.5, lambda scope: self.by_known_index(scope))]
        self.budget -= 1
        weights, makers = zip(*forms, strict=True)
        return self.rng.choices(makers, weights)[0](scope) or self.bind_array(scope)

    def some_form(self, scope: Scope) -> Form:
        names = self.structures(scope)
        if names and self.chance(0.75):
            return self.form(scope, self.recent(names))
        return self.rng.choice(self.rng.choice(list(FORMS.values())))

    def bind_structure(self, scope: Scope) -> Lines:
        form = self.some_form(scope)
        text, name = (
            self.value(scope, form) if self.chance(0.15) else self.built(scope, form),
            self.name_for(scope, form),
        )
        self.put(scope, name, form)
        return [f"{name} = {text}"]

    def choose_structure(self, scope: Scope) -> Lines:
        form = self.some_form(scope)
        text = f"{self.value(scope, form)} if {self.condition(scope)} else {self.value(scope, form)}"
        name = self.name_for(scope, form)
        self.put(scope, name, form)
        return [f"{name} = {text}"]

    def unpack(self, scope: Scope) -> Lines:
        names = self.structures(scope, "tuple", "list", "State")
        if not names:
            return self.bind_structure(scope)
        name = self.recent(names)
        kinds = self.form(scope, name).kinds
        targets: list[str] = []
        for kind in kinds:
            is_form = isinstance(kind, Form)
            target = self.name_for(scope, kind) if is_form else self.target(scope, kind)
            while target in targets or target.startswith(f"{name}["):
                self.fresh += 1
                target = f"y{self.fresh}"
            targets.append(target)
        if len(kinds) > 1 and self.chance(0.1):
            self.put(scope, targets[0], kinds[0])
            return [f"{targets[0]}, *_ = {name}"]
        for target, kind in zip(targets, kinds, strict=True):
            self.put(scope, target, kind)
        return [f"{', '.join(targets)} = {name}"]

    def renew(self, scope: Scope) -> Lines:
        """A structure of which some parts are new."""
        names = [n for n in self.structures(scope, "dict", "State", "list", "Model") if n.isidentifier()]
        if not names:
            return self.bind_structure(scope)
        name = self.recent(names)
        form = self.form(scope, name)
        path, kind = self.rng.choice(form.parts)
        value, before = self.value(scope, kind), []
        if not isinstance(kind, Form) and self.chance(0.8):
            fresh = self.target(scope, kind, 0.2)
            if fresh.isidentifier():
                before, value = [f"{fresh} = {value}"], fresh
                self.put(scope, fresh, kind)
        target = name if self.chance(0.7) else self.name_for(scope, form)
        if target in scope.fixed:
            target = name
        rest = [name + other if other != path else value for other, _ in form.parts]
        text = {
            "dict": f"{{**{name}, {path[1:-1]}: {value}}}",
            "State": f"{name}._replace({path[1:]}={value})",
        }.get(form.maker, self.put_together(form, rest))
        self.put(scope, target, form)
        return [*before, f"{target} = {text if self.chance(0.8) else self.put_together(form, rest)}"]

    def exchange(self, scope: Scope) -> Lines:
        names = [n for n in self.structures(scope) if n.isidentifier()]
        pairs = [(a, b) for a in names for b in names if a < b and scope.kinds[a] == scope.kinds[b]]
        if not pairs:
            return self.bind_structure(scope)
        one, other = self.rng.choice(pairs)
        if self.chance(0.5):
            return [f"{one}, {other} = {other}, {self.built(scope, self.form(scope, one))}"]
        return [f"{one}, {other} = {other}, {one}"]

    def comprehend(self, scope: Scope) -> Lines:
        names = [n for n in self.structures(scope, "list", "dict") if self.form(scope, n).is_uniform]
        names = [n for n in names if not isinstance(self.form(scope, n).kinds[0], Form)]
        if not names:
            return self.renew(scope)
        name = self.recent(names)
        form = self.form(scope, name)
        text = self.rng.choice(MAPS).format("v1", self.value(scope, form.kinds[0]))
        same = [n for n in scope.of(form) if n != name]
        if form.maker == "dict":
            text = f"{{key: {text} for key, v1 in {name}.items()}}"
        elif same and self.chance(0.4):
            text = f"[{text} * v2 for v1, v2 in zip({name}, {self.rng.choice(same)})]"
        else:
            text = f"[{text} for v1 in {name}]"
        target = self.name_for(scope, form)
        self.put(scope, target, form)
        return [f"{target} = {text}"]

    def change_leaf(self, scope: Scope) -> Lines:
        """A change in place of an array in a structure, whoever has it."""
        leaves = [n for n in scope.arrays() if not n.isidentifier()]
        if not leaves:
            return self.bind_structure(scope)
        name = self.recent(leaves)
        kind = scope.kinds[name]
        if self.chance(0.5):
            place = f"{name}[{self.rng.choice(['0', '-1', '1'])}]"
            return [f"{place} {self.rng.choice(['=', '*=', '+='])} {self.real_leaf(scope)}"]
        return [f"{name}[:] = {self.array(scope, kind, 1)}"]

    def build_list(self, scope: Scope) -> Lines:
        """A list that grows in a loop of known length, in which arrays are bound anew."""
        form = self.rng.choice(FORMS["ws"][:2])
        inner = scope.inner()
        inner.kinds["kb"] = INT
        inner.fixed |= {"kb"}
        body = self.bind_array(inner) if self.chance(0.7) else self.in_place(inner)
        name = self.name_for(scope, form, 0.0)
        body.append(f"{name}.append({self.array(inner, VECTOR, 1)})")
        scope.kinds = {n: k for n, k in scope.kinds.items() if inner.kinds.get(n) == k}
        self.put(scope, name, form)
        return [f"{name} = []", f"for kb in range({len(form.parts)}):", *indented(body)]

    def store_leaves(self, scope: Scope) -> Lines:
        """Several parts of a structure bound anew at once."""
        names = [n for n in self.structures(scope, "dict", "list") if n not in scope.fixed]
        names = [n for n in names if not any(n + path in scope.fixed for path, _ in self.form(scope, n).parts)]
        if not names:
            return self.bind_structure(scope)
        name = self.recent(names)
        parts = self.form(scope, name).parts[:2]
        targets, values = [name + path for path, _ in parts], [self.value(scope, kind) for _, kind in parts]
        return [f"{', '.join(targets)} = {', '.join(values)}"]

    def call_for_structure(self, scope: Scope) -> Lines:
        helper = self.rng.choice([h for h in self.helpers if any(isinstance(k, Form) for k in h.returns)])
        text = self.call(scope, helper)
        if not text:
            return self.bind_structure(scope)
        names: Lines = []
        for kind in helper.returns:
            name = self.name_for(scope, kind, 0.75) if isinstance(kind, Form) else self.target(scope, kind, 0.5)
            while name in names:
                self.fresh += 1
                name = f"y{self.fresh}"
            names.append(name)
        for name, kind in zip(names, helper.returns, strict=True):
            self.put(scope, name, kind)
        return [f"{', '.join(names)} = {text}"]

    def call_several(self, scope: Scope) -> Lines:
        helpers = [h for h in self.helpers if len(h.returns) > 1 and not any(isinstance(k, Form) for k in h.returns)]
        return (
            super().call_several(scope) if len(helpers) == len([h for h in self.helpers if len(h.returns) > 1]) else []
        )

    def call(self, scope: Scope, helper: Helper) -> str | None:
        if not any(isinstance(kind, Form) for kind in helper.parameters):
            return super().call(scope, helper)
        return f"{helper.name}({', '.join(self.value(scope, kind) for kind in helper.parameters)})"

    # loops

    def go_through(self, scope: Scope, depth: int) -> Lines:
        names = [n for n in self.structures(scope, "list", "tuple", "dict") if self.form(scope, n).is_uniform]
        if not names or "v3" in scope.kinds:
            return self.by_known_index(scope)
        name = self.recent(names)
        form = self.form(scope, name)
        part = form.kinds[0]
        inner = scope.inner()
        header = f"for v3 in {name}:"
        if isinstance(part, Form) and part.maker == "tuple" and self.chance(0.7):
            items = [f"v{i + 3}" for i in range(len(part.kinds))]
            header = f"for {', '.join(items)} in {name}:"
        else:
            items = ["v3"]
        if form.maker == "dict":
            header = f"for v3 in {name}.values():" if self.chance(0.4) else f"for key, v3 in {name}.items():"
        elif len(items) == 1 and self.chance(0.35):
            others = scope.of(form)
            header = f"for v3, v4 in zip({name}, {self.rng.choice(others)}):"
            items = ["v3", "v4"]
            if self.chance(0.5) and "at" not in scope.kinds:
                header, items = f"for at, v3 in enumerate({name}):", ["v3"]
                inner.kinds["at"] = INT
                inner.fixed |= {"at"}
        kinds = part.kinds if isinstance(part, Form) and len(items) == len(part.kinds) and "zip" not in header else None
        for i, item in enumerate(items):
            self.put(inner, item, kinds[i] if kinds else part)
        body = self.block(inner, self.rng.choice([1, 2, 2]), depth - 1)
        gone = {*items, "at", "key"}
        scope.kinds = {n: k for n, k in scope.kinds.items() if inner.kinds.get(n) == k}
        scope.kinds = {n: k for n, k in scope.kinds.items() if n.split("[")[0].split(".")[0] not in gone}
        return [header, *indented(body)]

    def by_known_index(self, scope: Scope) -> Lines:
        names = [n for n in self.structures(scope, "list") if self.form(scope, n).is_uniform]
        names = [n for n in names if not isinstance(self.form(scope, n).kinds[0], Form)]
        if not names:
            return self.bind_structure(scope)
        name = self.recent(names)
        form = self.form(scope, name)
        total = self.target(scope, REAL, 0.3)
        part = f"{name}[kx]" if form.kinds[0] == REAL else f"{name}[kx].sum()"
        lines = [f"{total} = 0.0", f"for kx in range({self.rng.choice([str(len(form.parts)), f'len({name})'])}):"]
        lines += [f"    {total} += {self.real_leaf(scope)} * {part}"]
        self.put(scope, total, REAL)
        if name.isidentifier() and name not in scope.fixed and f"{name}[0]" not in scope.fixed and self.chance(0.4):
            lines.append(
                f"    {name}[kx] = {self.rng.choice(MAPS).format(f'{name}[kx]', self.value(scope, form.kinds[0]))}"
            )
        return lines

    # functions and programs

    def structure_helper(self, name: str, form: Form) -> Helper:
        """A function of a structure and more, that gives it back anew, or something made of it."""
        pool = {"p": "ph", "ws": "wh", "layers": "lh", "st": "sh", "md": "mh"}
        parameters: dict[str, Kind] = {pool[prefix(form)]: form, "va": VECTOR}
        if self.chance(0.3):
            parameters["c"] = REAL
        spelt = "len(va)"
        scope = Scope({}, {"n": spelt, "m": spelt})
        for parameter, kind in parameters.items():
            self.put(scope, parameter, kind, is_fixed=True)
        self.budget = self.rng.choice([1, 2, 3])
        returns: tuple[Kind, ...] = self.rng.choice([(form,), (form,), (form, VECTOR), (VECTOR,), (REAL,)])
        body: Lines = []
        if self.chance(0.25):
            body += [f"if {self.condition(scope)}:", f"    return {self.given_back(scope, returns)}"]
        body += self.block(scope, self.rng.choice([0, 1, 1, 2]), 1)
        body = [line for line in body if line != "pass"]
        body.append(f"return {self.given_back(scope, returns)}")
        text = "\n".join([f"def {name}({', '.join(parameters)}):", *indented(body)])
        return Helper(name, text, tuple(parameters.values()), returns)

    def given_back(self, scope: Scope, kinds: tuple[Kind, ...]) -> str:
        parts = [
            self.built(scope, k) if isinstance(k, Form) and self.chance(0.8) else self.value(scope, k) for k in kinds
        ]
        return ", ".join(parts)

    def program(self) -> Program:
        rng = np.random.default_rng(self.rng.randrange(2**32))
        size = self.rng.choice([3, 4])
        names = self.rng.sample(list(FORMS), self.rng.choice([1, 1, 2]))
        forms = {name: self.rng.choice(FORMS[name]) for name in names}
        scope = Scope({"x": VECTOR}, {"n": "len(x)", "m": "2"})
        args: dict[str, Any] = {"x": data(rng, size)}
        for name, form in forms.items():
            self.put(scope, name, form, is_fixed=True)
            args[name] = given(form, size, rng)
        if self.chance(0.6):
            self.put(scope, "n", INT)
            scope.fixed |= {"n"}
            args["n"] = self.rng.choice([1, 2, 3])
        if self.chance(0.6):
            self.helpers = [self.structure_helper("update", self.rng.choice(list(forms.values())))]
        if self.chance(0.3):
            self.helpers = [*self.helpers, self.helper("step")]
        if self.chance(0.25):
            body = self.rng.choice(["return fn(va)", "return fn(fn(va))", "return va + fn(0.5 * va)"])
            self.helpers = [
                *self.helpers,
                Helper("apply", f"def apply(fn, va):\n    {body}", NONE, NONE),
            ]
        if self.chance(0.25):
            self.helpers = [*self.helpers, self.rng.choice(WITH_ALL)]
        self.budget = self.rng.choice([3, 5, 7])
        body = self.block(scope, self.rng.choice([2, 3, 3, 4]), 2)
        body.append(f"return {self.given(scope)}")
        text = [h.text + "\n\n" for h in self.helpers if h.text]
        text.append("\n".join([f"def f({', '.join(args)}):", *indented(body)]))
        return Program("\n".join(text) + "\n", args)

    def given(self, scope: Scope) -> str:
        """The result: mostly one number, made of what was bound last."""
        forms = [n for n in self.structures(scope) if n.isidentifier()]
        if forms and self.chance(0.25):
            form = self.form(scope, self.recent(forms))
            return self.built(scope, form)
        parts = [self.reduction(scope), *(f"({n} * {n}).sum()" for n in scope.arrays()[-2:])]
        parts += scope.sort("real")[-2:]
        for name in forms[-2:]:
            parts += [
                self.summed(name + path, kind)
                for path, kind in self.form(scope, name).parts
                if not isinstance(kind, Form)
            ]
        return " + ".join(dict.fromkeys(parts))

    def summed(self, name: str, kind: Kind) -> str:
        return f"({name} * {name}).sum()" if kind.sort == "array" else name


def structured(seed: int) -> Program:
    return Containers(random.Random(seed)).program()
