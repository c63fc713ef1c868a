"""How much a run of the suite takes of what could be drawn or compiled: a part, and more with LOOPDIFF_LONG_TESTS."""

from __future__ import annotations

import os

IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))
