"""What texts in graphs stand for: wrapped functions, and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from loopdiff.torch.program import TensorProgram
    from loopdiff.torch.wrapping import TensorFunction

WRAPPED: WeakValueDictionary[str, TensorFunction] = WeakValueDictionary()
PROGRAMS: dict[str, TensorProgram] = {}  # a graph may be run as long as the process is there
