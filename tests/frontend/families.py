"""Programs with objects of classes that are made of others, or derived from others, and of dataclasses that do more
than hold their fields, and arguments for each."""

from __future__ import annotations

import copy
import dataclasses
import math
from abc import ABC, abstractmethod

import numpy as np

from tests.frontend import structured
from tests.frontend.objects import Body
from tests.frontend.structured import draw

FAMILIES: dict[str, structured.Program] = {}
given = structured.registering(FAMILIES)


class Layer(ABC):
    """An abstract class, with a method that others call through `super`."""

    SHIFTS = ((1.0, 2.0), (0.5, 3.0))

    def __init__(self, w):
        self.w = w

    @abstractmethod
    def act(self, z): ...

    def forward(self, x):
        return self.act(self.w * x)

    def shifted(self):
        return sum(self.w * a + b for a, b in self.SHIFTS)


class Tanh(Layer):
    def act(self, z):
        return np.tanh(z)


class Affine(Layer):
    def __init__(self, w, b):
        super().__init__(w)
        self.b = b

    def act(self, z):
        return z + self.b

    def forward(self, x):
        return 2.0 * super().forward(x)


class Shifted(Affine):
    def __init__(self, w, b, c):
        super(Shifted, self).__init__(w, b)  # noqa: UP008
        self.c = c

    def forward(self, x):
        return super().forward(x) - self.c


@given(draw(3))
def classes_derived_twice(x):
    layers = [Tanh(x[0]), Affine(x[1], x[2]), Shifted(x[2], x[0], x[1])]
    h = 0.7
    for layer in layers:
        h = layer.forward(h) + layer.shifted()
    return h


class Tree:
    """A tree of nodes, some of them missing."""

    def __init__(self, v, left=None, right=None):
        self.v, self.left = v, left
        self.right = right or None

    def total(self):
        t = self.v
        if self.left is not None:
            t += 2.0 * self.left.total()
        if self.right:
            t += 3.0 * self.right.total()
        return t


@given(draw(3))
def trees_of_objects(x):
    return Tree(x[0], Tree(x[1]), Tree(x[2], right=Tree(x[0] * x[1]))).total()


class Cart:
    """An object of others, which it is given."""

    def __init__(self, body, wheels):
        self.body = body
        self.wheels = wheels

    def roll(self, h):
        self.body.drift(h)
        for w in self.wheels:
            w.x = w.x + h * self.body.v


@given(draw(3), 0.2)
def objects_that_are_given_others(x, h):
    wheels = []
    for k in range(3):
        w = Body(x[k], 0.0)
        w.kick(x[0], h)
        wheels.append(w)
    frame = Body(x[1], x[2])
    cart = Cart(frame, wheels)
    for _ in range(3):
        cart.roll(h)
    last = cart
    last.body.x *= 2.0
    return last.body.x + sum(w.x * w.v for w in last.wheels)


@given(draw(3), 0.1)
def items_that_loops_read(x, h):
    bodies = [Body(x[k], 0.5 * x[k], 1.0 + k) for k in range(3)]
    e = 0.0
    for _ in range(2):
        for a in bodies:
            f = 0.0
            for b in bodies:
                if b is not a:
                    f += b.m * (b.x - a.x)
            a.kick(f, h)
        for b in bodies:
            b.drift(h)
        e += sum(b.m * b.x * b.x for b in bodies) + max([b.v for b in bodies])
    return e


@given(draw(3), 0.1)
def objects_in_dictionaries(x, h):
    named = {"a": Body(x[0], x[1]), "b": Body(x[1], x[2])}
    for name, body in named.items():
        body.drift(h if name == "a" else 2.0 * h)
    named["c"] = Body(x[2], x[0])
    for body in named.values():
        body.x = body.x * body.v
    return sum(body.x for body in named.values())


class Clamped:
    """A property that gets values."""

    best = None

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.value = 0.0

    @property
    def value(self):
        return self.kept

    @value.setter
    def value(self, v):
        if v > self.high:
            self.kept = self.high
        elif v < self.low:
            self.kept = self.low
        else:
            self.kept = v

    def note(self):
        self.best = self.value if self.best is None else max(self.best, self.value)


class Settings:
    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


@given(draw(4), 0.6)
def properties_and_names_of_attributes(x, high):
    c = Clamped(-0.5 * high, high)
    t = 0.0
    c.note()
    for v in x:
        c.value = v
        t += c.value * v
    c.note()
    s = Settings(a=x[0], b=t)
    return t + sum(getattr(s, name) for name in ("a", "b")) + getattr(s, "c", 3.0) * hasattr(c, "low") + c.best


@given(draw(3))
def copies_of_objects(x):
    a = Body(x * 2.0, x[0])
    b = copy.copy(a)
    b.v = x[1]
    b.x[0] = 3.0 * x[2]
    b.drift(0.5)
    c = copy.deepcopy(a.x)
    c[1] = x[0]
    return np.sum(a.x * b.x) * a.v + np.sum(c * a.x)


@dataclasses.dataclass
class Options:
    rate: float = 0.1
    kind: str = "plain"


@dataclasses.dataclass
class Fit:
    w: np.ndarray
    scale: dataclasses.InitVar[float] = 2.0
    options: Options = dataclasses.field(default_factory=Options)
    seen: list = dataclasses.field(default_factory=list)
    size: float = dataclasses.field(init=False)

    def __post_init__(self, scale):
        self.size = scale * np.sum(self.w**2)
        self.first = self.w[0]

    def step(self):
        if self.options.kind == "plain":
            self.w = self.w - self.options.rate * self.w
        self.seen.append(np.sum(self.w))


@dataclasses.dataclass
class Named(Fit):
    bias: float = 1.0

    def __post_init__(self, scale):
        super().__post_init__(scale)
        self.size += self.bias


@given(draw(3), 0.3)
def dataclasses_that_do_more(x, s):
    a, b = Fit(x * 1.0), Named(x * s, 3.0, Options(rate=s), bias=x[1])
    for _ in range(2):
        a.step()
        b.step()
    b.seen.append(a.size)
    return a.size * b.size + sum(a.seen) * len(b.seen) + sum(b.seen) + b.first


def hypotenuse(a, b, c):
    return math.hypot(a, b) * c


@given(draw(3), draw(2))
def arrays_behind_stars(x, p):
    layer = Affine(*p)
    p = p * layer.forward(*x[:1])
    return hypotenuse(*x) + hypotenuse(x[0], *p) + np.arctan2(*p) + layer.b
