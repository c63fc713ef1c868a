"""What is known of the extents of arguments, and what the parser asked of them.

A name that stands for arrays of one shape has memory of its own, any other one is one of several arrays, which
multiplies the program. Which of both it is may depend on extents that only a call knows: whether they are a number that
the program says, as of `np.eye(3)`, or the same as others. So the answers belong to the types, those that were asked
for: nothing else depends on extents, and other calls get other code only where they answer otherwise.

An `ArrayType` has a label for each axis: the extent, if it is small; a negative number that equal larger ones share; 0
where nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loopdiff.immutable import replace
from loopdiff.ir.types import ArrayType

SMALL = 16  # extents that programs write as numbers

Axis = tuple[str, int]
Question = tuple[str, int, int | Axis]
"""Whether an axis of an argument has an extent: a number, or that of another axis."""
PlacedQuestion = tuple[int, int, int | tuple[int, int]]


def small_axes(shape: Sequence[Any]) -> tuple[int, ...]:
    """The labels of the axes of one array."""
    return tuple(n if type(n) is int and 0 < n <= SMALL else 0 for n in shape)


def with_axes(types: Mapping[str, Any], shapes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """`types` with labels for arrays of these `shapes`, which tell too which extents are equal."""
    numbers: dict[Any, int] = {}
    out = dict(types)
    for name, shape in shapes.items():
        if isinstance(kind := types[name], ArrayType):
            labels = small_axes(shape)
            others = (label or numbers.setdefault(n, -1 - len(numbers)) for n, label in zip(shape, labels, strict=True))
            out[name] = replace(kind, axes=tuple(others))
    return out


def is_so(question: Question, types: Mapping[str, Any]) -> bool:
    """Whether the answer is known to be yes."""
    name, axis, other = question
    label = label_of(types, (name, axis))
    return label != 0 and label == (other if isinstance(other, int) else label_of(types, other))


def label_of(types: Mapping[str, Any], axis: Axis) -> int:
    labels = getattr(types[axis[0]], "axes", ())
    return labels[axis[1]] if labels else 0


def agree(types: Mapping[str, Any], others: Mapping[str, Any], asked: Collection[Question]) -> bool:
    """Whether both answer all that was `asked` alike."""
    return all(is_so(q, types) == is_so(q, others) for q in asked)


def without_axes(types: Mapping[str, Any]) -> dict[str, Any]:
    return {n: replace(t, axes=()) if isinstance(t, ArrayType) else t for n, t in types.items()}


def decisive_types(types: Mapping[str, Any], asked: Collection[Question]) -> dict[str, Any]:
    """`types` with what was asked and is so, and nothing else: they answer as these do."""
    labels: dict[Axis, int] = {}
    for count, equal in enumerate(classes([q for q in sorted(asked, key=repr) if is_so(q, types)]), start=1):
        number = next((end for end in equal if isinstance(end, int)), -count)
        labels |= {end: number for end in equal if not isinstance(end, int)}
    with_labels = {name for name, _ in labels}
    return {
        n: replace(t, axes=tuple(labels.get((n, k), 0) for k in range(t.rank)) if n in with_labels else ())
        if isinstance(t, ArrayType)
        else t
        for n, t in types.items()
    }


def classes(answered: Sequence[Question]) -> list[list[int | Axis]]:
    """Axes, and numbers, that are equal by what was `answered`."""
    found: list[list[int | Axis]] = []
    for name, axis, other in answered:
        ends: list[int | Axis] = [(name, axis), other]
        met = [equal for equal in found if any(end in equal for end in ends)]
        found = [equal for equal in found if equal not in met]
        found.append(list(dict.fromkeys(end for equal in (*met, ends) for end in equal)))
    return found


def questions_about(asked: Collection[Question], names: Sequence[str]) -> list[PlacedQuestion]:
    """Questions about arrays among `names`, by their positions there."""
    where = {name: k for k, name in enumerate(names)}
    found: list[PlacedQuestion] = []
    for name, axis, other in sorted(asked, key=repr):
        if isinstance(other, int) and name in where:
            found.append((where[name], axis, other))
        elif not isinstance(other, int) and name in where and other[0] in where:
            found.append((where[name], axis, (where[other[0]], other[1])))
    return found
