"""Machine code on disk, in place of the files that Numba keeps: these are pickles, which run what they hold.

What Numba makes of a function is an entry of the cache, read as it was written and by the user who wrote it. Its name
says all that the code depends on: the text of the module, the function, the types, the processor that Numba compiles
for, and how. So there is no index that could say something else, and nothing that depends on where files are.
"""

from __future__ import annotations

import pickle
from hashlib import sha256
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
from numba.core import types
from numba.core.caching import _Cache
from numba.core.compiler import Compiler, CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from loopdiff.backends.load import TEXTS, digest_of_text
from loopdiff.disk import entries
from loopdiff.disk.places import cache_directory
from loopdiff.settings.installation import vector_library

D = TypeVar("D")


class MachineCode(_Cache):
    """Numba's interface to a cache, for one function."""

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def cache_path(self) -> Any:
        return str(cache_directory() / "machine")

    def enable(self) -> None:
        """It is for as long as there is a function."""

    def disable(self) -> None:
        """Likewise."""

    def flush(self) -> None:
        """What is compiled again is the same."""

    def name(self, signature: Any, codegen: Any) -> str | None:
        """The entry for the types of `signature`; None where their names mean nothing in another process."""
        function, (args, result) = self.function, normalize_signature(signature)
        if not all(map(has_stable_name, args)):
            return None
        text = TEXTS.get(function.__code__.co_filename, "")  # of loopdiff's own modules, `installation` has the text
        parts = (
            digest_of_text(text), function.__module__, function.__qualname__, *map(str, (*args, result)),
            repr(codegen.magic_tuple()), vector_library(),
        )  # fmt: skip
        digest = sha256("\0".join(parts).encode()).hexdigest()[:32]
        return f"machine/{function.__name__[:50]}-{digest}.bin"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Without what Numba imports to compile, half of the time of a process that only loads, if the code needs none
        of it."""
        rtsys.initialize(target_context)
        name = self.name(sig, target_context.codegen())
        payload = None if name is None else entries.read(name)
        if name is None or payload is None:
            return None
        try:
            symbols, parts = pickle.loads(payload)
            if not all(map(llvm.address_of_symbol, symbols)):
                target_context.refresh()
            return CompileResult._rebuild(target_context, *parts)
        except Exception:  # whatever is wrong, Numba can compile the function
            entries.discard(name, "cannot be loaded")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        name = self.name(sig, data.codegen)
        if name is not None and not data.lifted and not data.library.has_dynamic_globals:
            entries.write(name, dumps((symbols_of(data.library._final_module), data._reduce())))


def symbols_of(module: Any) -> list[str]:
    """The names of what is outside of a module."""
    values = (*module.functions, *module.global_variables)
    return [v.name for v in values if v.is_declaration and not v.name.startswith("llvm.")]


def has_stable_name(kind: Any) -> bool:
    """Whether the name of a type says what it is, in every process: that of a function has an address in it."""
    inner: Any = kind
    match kind:
        case types.Number() | types.Boolean():
            return True
        case types.Array():
            return has_stable_name(inner.dtype)
        case types.BaseTuple():
            return all(map(has_stable_name, inner))
        case _:
            return False


def kept(dispatcher: D) -> D:
    """`dispatcher`, which looks for its machine code on disk, and leaves it there."""
    is_compiled, found = isinstance(dispatcher, Dispatcher), cast(Any, dispatcher)
    if is_compiled:  # Numba can be told to leave functions as they are
        found._cache = MachineCode(found.py_func)
    return dispatcher


def kept_callback(signature: Any, pipeline: type[Compiler] = Compiler) -> Any:
    """Like Numba's `cfunc`, of a function whose machine code is kept."""
    from numba.core.ccallback import CFunc

    def compile_callback(function: Any) -> Any:
        found: Any = CFunc(function, normalize_signature(signature), {}, {}, pipeline_class=pipeline)
        found._cache = MachineCode(function)
        found.compile()
        return found

    return compile_callback
