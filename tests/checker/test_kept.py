"""The checker's histories with every open transaction kept over restarts, from the first pass on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.checker.test_checker import Cluster, play

from minercdc.capture.logminer.buffer.transactions import Transaction
from minercdc.capture.logminer.kept.keeping import Keeping

SEEDS = int(os.environ.get("MINERCDC_SEEDS", "4"))
FIRST_SEED = int(os.environ.get("MINERCDC_SEED", "5000"))
KEEPS: Final[dict[str, Any]] = {
    "minercdc.log.mining.buffer.durable": "disk",
    "minercdc.log.mining.buffer.durable.after.ms": 0,
    "lob.enabled": False,
}

_named: list[int] = []

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = Cluster(tmp_path_factory.mktemp("cluster"))
    yield server
    assert server.stop()[0] == 0
    assert sum(_named) > 0


@pytest.fixture(autouse=True)
def _some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the transactions are kept: for the others, redo is mined again that the files of the kept ones have."""
    due = Keeping._is_due

    def is_due(self: Keeping, transaction: Transaction, *given: Any) -> bool:
        return transaction.key[1][4] % 2 == 0 and due(self, transaction, *given)

    monkeypatch.setattr(Keeping, "_is_due", is_due)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_what_comes_out_is_what_was_committed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Every other seed on the Python path. Half of them change to COMMITTED_DATA_ONLY and back, which mines what was kept again."""
    if seed % 2:
        monkeypatch.setattr("tests.sandbox_capture.lab.IS_NATIVE", False)
    script: list[str] = []
    try:
        connector = play(cluster, tmp_path, seed, script=script, **KEEPS)
    except Exception as error:
        pytest.fail(f"seed {seed}: {error!r}\n" + "\n".join(script))
    _named.append(connector.names_kept)
