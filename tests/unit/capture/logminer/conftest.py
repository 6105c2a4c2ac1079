from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import Life


@pytest.fixture
def life(tmp_path: Path) -> Life:
    """A connector that has read nothing yet."""
    return Life(tmp_path)
