"""The native path: rows of redo to record bytes by compiled code (docs/architecture.md, "The native path").

`rows` is the extension; None where it was not built, or MINERCDC_NATIVE is `0`. Then the Python path does all, which is its
reference: the native one leaves to it every row that it does not know for certain.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Final


def _loaded() -> ModuleType | None:
    if os.environ.get("MINERCDC_NATIVE") == "0":
        return None
    try:
        from minercdc.native import _rows
    except ImportError:
        return None
    return _rows


rows = _loaded()
PATH: Final = "python" if rows is None else "native"
"""The path in use: `native` or `python`."""


def summary() -> str:
    """One line that says which path is in use, and why, for the person who installs it."""
    if rows is not None:
        return "compiled code reads and prints rows (native path)"
    if os.environ.get("MINERCDC_NATIVE") == "0":
        return "MINERCDC_NATIVE=0: Python reads and prints rows"
    return "the native extension was not built (it needs a C compiler and Python's headers): Python reads and prints rows"
