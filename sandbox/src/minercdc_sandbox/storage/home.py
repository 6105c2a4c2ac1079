"""A database's directory: `--data` keeps the database there, so that a server goes on with it after a stop or kill.

    rows.db     SQLite: the segments, and a table `kept` of named, pickled parts: dictionary, redo threads, the last moment
    redo.log    every record of every redo thread, framed (redo/journal.py)
    scn         an SCN no smaller than any that was handed out
    lock        held while a server uses the directory

A directory of another format is refused. Keep a directory from strangers: reading a pickle runs code.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import apsw

from minercdc_sandbox.interfaces import OraError

FORMAT = 5
_SCN_STEP = 100_000


class DataDirectory:
    """A database's directory, open and locked; made when it is not there. Owns the files until `close`; used by one thread at a
    time. When the constructor fails, all files opened so far are closed.

    :ivar db: connection to `rows.db`, always in a SQLite transaction, which `commit` ends and begins again.
    :ivar redo: file descriptor of `redo.log`.
    :ivar is_new: no database was kept here before.
    :raises OraError: ORA-01102 when another server uses it, ORA-00201 when it was written in another format.
    :raises OSError, apsw.Error: it cannot be made, read or written.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            lock = opened.enter_context((path / "lock").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OraError(1102, f"cannot mount database in EXCLUSIVE mode: another server uses {path}") from None
            self.db = self._open(path / "rows.db")
            opened.callback(self.db.close)
            self.is_new = self.load("format") is None
            found = self.load("format") or FORMAT
            if found != FORMAT:
                raise OraError(
                    201, f"control file version {found} incompatible with version {FORMAT} of the sandbox: {path}"
                )
            self.redo = os.open(path / "redo.log", os.O_RDWR | os.O_CREAT, 0o600)
            opened.callback(os.close, self.redo)
            self._scn = os.open(path / "scn", os.O_RDWR | os.O_CREAT, 0o600)
            opened.callback(os.close, self._scn)
            self._opened = opened.pop_all()

    @staticmethod
    def _open(path: Path) -> apsw.Connection:
        """Open `rows.db`, made when it is not there, with a table `kept`, and begin a SQLite transaction. Commits survive a
        killed process; the crash of the host may lose the last ones. Raises apsw.Error."""
        connection = apsw.Connection(str(path), statementcachesize=1000)
        for pragma in ("locking_mode=exclusive", "journal_mode=wal", "synchronous=normal", "cache_size=-131072"):
            connection.execute(f"pragma {pragma}").fetchall()
        connection.execute("create table if not exists kept(name text primary key, value blob) without rowid")
        connection.execute("begin")
        return connection

    def load(self, name: str) -> Any:
        """A part by name, unpickled: a new object at each call; None when it was never saved."""
        row = self.db.execute("select value from kept where name = ?", (name,)).fetchone()
        return None if row is None else pickle.loads(row[0])

    def save(self, name: str, value: Any) -> None:
        """Pickle a part, which replaces that of the same name; it survives from the next `commit` on."""
        self.db.execute("replace into kept values (?, ?)", (name, pickle.dumps(value, pickle.HIGHEST_PROTOCOL)))

    def commit(self) -> None:
        """Let all rows and parts written up to here survive a kill of the process."""
        self.db.execute("commit")
        self.db.execute("begin")

    def first_scn(self) -> int | None:
        """The SCN from which the clock is to go on, not below any given out; None in a new directory."""
        kept = os.pread(self._scn, 8, 0)
        return int.from_bytes(kept, "big") if kept else None

    def reserve_scns(self, scn: int) -> int:
        """Write down and return the SCN, above `scn`, up to which SCNs may be given out before the next call."""
        ceiling = scn + _SCN_STEP
        os.pwrite(self._scn, ceiling.to_bytes(8, "big"), 0)
        return ceiling

    def close(self) -> None:
        """Close the files and `db`, and release the lock; what was not committed is lost."""
        self._opened.close()
