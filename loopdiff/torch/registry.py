"""Wrapped functions by the text that stands for each while PyTorch's compiler looks at it."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

WRAPPED: WeakValueDictionary[str, Any] = WeakValueDictionary()
