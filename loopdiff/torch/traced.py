"""What `torch.compile` sees of a wrapped function: one call that it does not look into, but traces through.

Imported when something is compiled: it needs PyTorch's own compiler.
"""

from __future__ import annotations

import logging
from typing import Any

import torch._dynamo

from loopdiff.errors import LoopdiffError
from loopdiff.torch.registry import WRAPPED

LOG = logging.getLogger("loopdiff")


@torch._dynamo.nonstrict_trace
def traced_call(handle: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the wrapped function `handle` gives."""
    try:
        return WRAPPED[handle].composed(args, named)
    except LoopdiffError as error:
        LOG.error("%s", error)  # PyTorch's compiler says something else, and not this
        raise
