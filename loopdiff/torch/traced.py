"""What `torch.compile` sees of a wrapped function: one call that it does not look into, but traces through.

Imported when something is compiled: it needs PyTorch's own compiler.
"""

from __future__ import annotations

from typing import Any

import torch._dynamo

from loopdiff.torch.registry import WRAPPED


@torch._dynamo.nonstrict_trace
def traced_call(handle: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the wrapped function `handle` gives."""
    return WRAPPED[handle].composed(args, named)
