"""A consumer in a process of its own: a copy of the relay's tables in SQLite, with the checkpoint in the same transaction.

    python relay_consumer.py URL DATABASE [CONFIG] [--slow SECONDS]

With CONFIG it bootstraps from the database of that configuration. Prints a line for each window.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import threading
import time
from pathlib import Path

from minercdc.config.load import load_relay_config
from minercdc.relay.client.bootstrap import SnapshotBootstrap
from minercdc.relay.client.checkpoint import Checkpoint, checkpoint_of
from minercdc.relay.client.consumer import Change, ClientOptions, RelayClient


class Copy:
    """Consumer, and where the checkpoint is kept: both in one transaction of SQLite."""

    def __init__(self, path: Path, slow: float = 0) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS copied (source TEXT, key TEXT, row TEXT, PRIMARY KEY (source, key))"
        )
        self._database.execute("CREATE TABLE IF NOT EXISTS place (checkpoint TEXT)")
        self._slow = slow

    def load(self) -> Checkpoint | None:
        found = self._database.execute("SELECT checkpoint FROM place").fetchone()
        return checkpoint_of(found[0]) if found else None

    def save(self, checkpoint: Checkpoint) -> None:
        """It is saved by `window_end`, with the rows."""

    def window_start(self, scn: int) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        self._database.execute("BEGIN")

    def event(self, change: Change) -> None:
        key = change.key if isinstance(change.key, int) else change.key.decode()
        if change.deleted:
            self._database.execute("DELETE FROM copied WHERE source = ? AND key = ?", (change.source, str(key)))
        else:
            row = json.dumps(change.row)
            self._database.execute("INSERT OR REPLACE INTO copied VALUES (?, ?, ?)", (change.source, str(key), row))

    def window_end(self, checkpoint: Checkpoint) -> None:
        time.sleep(self._slow)
        self._database.execute("DELETE FROM place")
        self._database.execute("INSERT INTO place VALUES (?)", (checkpoint.to_json(),))
        self._database.execute("COMMIT")
        print("window", checkpoint.window_scn, flush=True)

    def bootstrap_start(self, scn: int) -> None:
        self.window_start(scn)
        self._database.execute("DELETE FROM copied")

    def bootstrap_end(self, checkpoint: Checkpoint) -> None:
        self.window_end(checkpoint)
        print("bootstrapped", checkpoint.window_scn, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("database", type=Path)
    parser.add_argument("config", type=Path, nargs="?")
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--size", type=int, default=1024 * 1024)
    given = parser.parse_args()
    copy = Copy(given.database, given.slow)
    bootstrap = SnapshotBootstrap(load_relay_config(given.config)) if given.config else None
    client = RelayClient(
        given.url,
        copy,
        copy,
        bootstrap=bootstrap,
        options=ClientOptions(bootstrap_first=bootstrap is not None, buffer_bytes=given.size, name=given.database.stem),
    )
    client.run(threading.Event())


if __name__ == "__main__":
    main()
