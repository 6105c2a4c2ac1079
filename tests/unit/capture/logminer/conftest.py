from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.capture.logminer.redo import Miner


@pytest.fixture
def miner(tmp_path: Path) -> Miner:
    """A connector that has read nothing yet."""
    return Miner(tmp_path)
