"""The extension that reads records into columns; None where it was not built, or MINERCDC_NATIVE is `0`."""

from __future__ import annotations

import os
from types import ModuleType


def _loaded() -> ModuleType | None:
    if os.environ.get("MINERCDC_NATIVE") == "0":
        return None
    try:
        from minercdc.native import _decode
    except ImportError:
        return None
    return _decode


decode = _loaded()
