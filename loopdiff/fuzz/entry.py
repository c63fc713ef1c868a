"""A failing program as the text of a corpus entry, ready to be copied into `tests/corpus`."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopdiff.fuzz.program import RandomProgram

TEMPLATE = '''"""Seed {seed} of `python -m loopdiff fuzz`: {stage}; {setting}."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


{function}

ENTRIES = (
    Entry(
        name="{name}",
        function={name},
        make=lambda r: dict(
            {arguments},
        ),
        wrt={wrt!r},
        outputs={outputs!r},
    ),
)
'''


def entry_text(program: RandomProgram, stage: str, outputs: tuple[str, ...], name: str = "") -> str:
    """The module of an entry that runs `program` on the arguments it failed with."""
    name = name or f"seed_{program.seed}"
    args = program.values(program.sizes[0])
    return TEMPLATE.format(
        seed=program.seed,
        stage=stage,
        setting=program.setting,
        function=program.text.replace("def f(", f"def {name}(", 1),
        name=name,
        arguments=",\n            ".join(f"{n}={literal(v)}" for n, v in args.items()),
        wrt=program.wrt,
        outputs=outputs,
    )


def literal(value: Any) -> str:
    """An expression for an argument; a strided array is written as a view of a larger one."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    shape = "" if value.size else f".reshape({value.shape})"
    numbers = np.round(value, 3) if value.dtype.kind in "fc" else value
    text = f"np.array({numbers.tolist()}, np.{value.dtype}){shape}"
    if value.flags.c_contiguous:
        return text.replace("np.bool)", "np.bool_)")
    if value.flags.f_contiguous:
        return f"np.asfortranarray({text})"
    if min(value.strides) < 0:
        at = "::-1" if value.strides[0] < 0 else "..., ::-1"
        return f"np.array({text}[{at}])[{at}]"
    if value.ndim > 1 and value.strides[-1] == value.itemsize:
        return f"np.pad({text}, ((0, 0), (1, 2)))[:, 1:-2]"
    return f"np.repeat({text}, 2, axis=-1)[..., ::2]"
