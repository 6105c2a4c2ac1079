"""The position of LogMiner: how far the redo of each thread is read, the only reliable order.

An SCN is given when a change is made, but the change's record may reach the log later (private strands), so SCNs go up
and down along the redo, and a bound by SCN can pass over rows for ever. A redo address cannot.

    resume       where mining begins after a restart: not after the first record of a transaction that was open and is not kept,
                 nor after `kept_to`; without either, where reading had come (unbuffered: earlier)
    kept_to      rows of kept transactions before it are in files (`kept/keeping.py`), later ones are mined
    last_commit  transactions that ended at or before it are delivered: dropped when they are mined again
    last_ddl     likewise for DDL
    ahead        COMMITs and DDL after these that are delivered, while an earlier one of the thread waits for other threads
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from minercdc.oracle.scn import DatabaseIdentity, PdbIdentity
from minercdc.stream.offset import JsonValue


class RedoAddress(NamedTuple):
    """A place in one thread's redo; addresses of different threads cannot be compared.

    :param rs_id: redo record, `0x<log sequence>.<block>.<offset>`, fixed-width hex: text order is redo order.
    :param rows: how many rows (commits, in `last_commit`) of that record are done.
    """

    rs_id: str
    rows: int = 0

    @property
    def sequence(self) -> int:
        """The sequence number of the log that the record is in. `rs_id` must not be ''."""
        return int(self.rs_id.partition(".")[0], 16)


def address_of(thread: int, rs_id: str) -> RedoAddress | None:
    """The address of a row's record, with `rows` 1, from RS_ID as LogMiner prints it; None for the synthetic rows that have
    none (thread 0, or all zeros)."""
    trimmed = rs_id.strip()
    return RedoAddress(trimmed, 1) if thread and trimmed.strip("0x.") else None


def log_start(sequence: int) -> RedoAddress:
    """The address before the first record of the log with this sequence number, from which the whole log is read."""
    return RedoAddress(f"0x{sequence:06x}.00000000.0000")


class KeptPart(NamedTuple):
    """A file that holds rows of a kept transaction, or the beginning of such a file.

    :param name: of the file, in the directory of `KeptFiles`.
    :param length: bytes that count; what follows was not stored with an offset.
    :param checksum: CRC-32 of these.
    """

    name: str
    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class KeptTransaction:
    """An open transaction whose rows up to `ThreadMark.kept_to` are in files, so that their redo is not needed any more.

    :param container: its number, SRC_CON_ID; 0 outside a container database.
    :param xid: as hex, 16 digits.
    :param start: address of its START, or first row; `scn` is that row's.
    :param start_scn: 0 when its START was not read.
    :param time: of its start, by the database's host, ISO 8601 without zone.
    :param user, client_id: of its session, None when not known.
    :param rows: in the files, and not undone; `changes` counts undone ones, too.
    :param is_large: it has had rows of large values, or with a placeholder for the ROWID; as `Transaction.is_large`.
    :param tables: says which tables were captured when the rows were kept, see `keeping.captured_tables`.
    :param files: the rows, oldest first.
    """

    container: int
    xid: str
    thread: int
    start: RedoAddress
    scn: int
    start_scn: int
    time: str
    user: str | None
    client_id: str | None
    rows: int
    changes: int
    is_large: bool
    tables: str
    files: tuple[KeptPart, ...]

    @property
    def key(self) -> tuple[int, bytes]:
        """Container and XID (8 bytes), as `Transaction.key`."""
        return self.container, bytes.fromhex(self.xid)

    @property
    def bytes(self) -> int:
        """Sum of the bytes that count in its files."""
        return sum(part.length for part in self.files)

    def __str__(self) -> str:
        """Describes the transaction and its files, for messages."""
        return (
            f"transaction {self.xid} of thread {self.thread}, user {self.user or 'unknown'}, begun {self.time} at SCN {self.scn},"
            f" {self.rows} rows in {', '.join(part.name for part in self.files) or 'no file'}"
        )

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text."""
        return {
            "container": self.container,
            "xid": self.xid,
            "thread": self.thread,
            "start": list(self.start),
            "scn": str(self.scn),
            "start_scn": str(self.start_scn),
            "time": self.time,
            "user": self.user,
            "client_id": self.client_id,
            "rows": self.rows,
            "changes": self.changes,
            "large": self.is_large,
            "tables": self.tables,
            "files": [list(part) for part in self.files],
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> KeptTransaction:
        """The transaction that `to_json` made `saved` of; errors as those of `LogMinerPosition.from_json`."""
        return cls(
            int(saved["container"]),
            str(saved["xid"]),
            int(saved["thread"]),
            RedoAddress(*saved["start"]),
            int(saved["scn"]),
            int(saved["start_scn"]),
            str(saved["time"]),
            saved["user"],
            saved["client_id"],
            int(saved["rows"]),
            int(saved["changes"]),
            bool(saved["large"]),
            str(saved["tables"]),
            tuple(KeptPart(str(name), int(length), int(checksum)) for name, length, checksum in saved["files"]),
        )


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """How far we are in one redo thread: where mining begins after a restart, and what of it is delivered then already.

    :param resume: where mining begins after a restart; see the module.
    :param resume_scn: an SCN by which the log of `resume` is found; also for messages.
    :param last_commit: transactions that ended at or before it are delivered; `last_ddl` likewise for DDL. None, with SCN 0,
        while none of this thread is delivered or followed.
    :param kept_to: record up to which, without it, the rows of kept transactions are in files; None when there are none. Not
        before `resume`. `kept_to_scn` is its SCN.
    :param ahead: COMMITs, and DDL with `rows` 0, that are delivered though they lie after `last_commit` or `last_ddl`.
    """

    resume: RedoAddress
    resume_scn: int = 0
    last_commit: RedoAddress | None = None
    last_commit_scn: int = 0
    last_ddl: RedoAddress | None = None
    kept_to: RedoAddress | None = None
    kept_to_scn: int = 0
    ahead: tuple[RedoAddress, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text."""
        kept: dict[str, JsonValue] = (
            {"kept_to": list(self.kept_to), "kept_to_scn": str(self.kept_to_scn)} if self.kept_to else {}
        )
        return {
            "resume": list(self.resume),
            "resume_scn": str(self.resume_scn),
            "last_commit": list(self.last_commit) if self.last_commit else None,
            "last_commit_scn": str(self.last_commit_scn),
            "last_ddl": list(self.last_ddl) if self.last_ddl else None,
            **kept,
            **({"ahead": [list(place) for place in self.ahead]} if self.ahead else {}),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> ThreadMark:
        """The mark that `to_json` made `saved` of; errors as those of `LogMinerPosition.from_json`."""
        return cls(
            RedoAddress(*saved["resume"]),
            int(saved["resume_scn"]),
            RedoAddress(*saved["last_commit"]) if saved["last_commit"] else None,
            int(saved["last_commit_scn"]),
            RedoAddress(*saved["last_ddl"]) if saved["last_ddl"] else None,
            RedoAddress(*saved["kept_to"]) if "kept_to" in saved else None,
            int(saved.get("kept_to_scn", 0)),
            tuple(RedoAddress(str(rs_id), int(rows)) for rs_id, rows in saved.get("ahead", ())),
        )


@dataclass(frozen=True, slots=True)
class LogMinerPosition:
    """The position of both LogMiner adapters, which is stored in the offset: where to go on from.

    :param threads: by number of the redo thread.
    :param start_scn: where threads without a mark begin.
    :param snapshot_scn: commits and DDL at or below it are part of the snapshot, or were delivered by another reader; 0: none
        are.
    :param resetlogs: RESETLOGS_CHANGE# of the incarnation the addresses belong to; 0 when not known: it is not checked then.
    :param given_up: open transactions that are not wanted any more, as hex of `mark_of`: what of them comes is dropped.
    :param kept: open transactions that are not mined again from their start.
    :param pdbs: names of the pluggable databases that it is of, when there are several; () for one database.
    :param dbid: DBID of the database whose redo it is a place in; 0 when not known: it is not checked then.
    :param whole: no transaction that is still to be delivered began before the marks. LogMiner needs the START of a transaction to
        show that it was committed, and to show its large values; `open_at.from_starts` makes a position whole.
    :param pdb_ids: which each captured pluggable database is, by its name, as far as it is known.
    :param kept_version: of `kept`, within a run: files that went out of use up to it are not needed by this position. Not stored.
    """

    threads: Mapping[int, ThreadMark] = field(default_factory=dict)
    start_scn: int = 0
    snapshot_scn: int = 0
    resetlogs: int = 0
    given_up: frozenset[str] = frozenset()
    kept: tuple[KeptTransaction, ...] = ()
    kept_version: int = field(default=0, compare=False)
    pdbs: tuple[str, ...] = ()
    dbid: int = 0
    whole: bool = True
    pdb_ids: Mapping[str, PdbIdentity] = field(default_factory=dict)

    def mined_again(self, wanted: Callable[[KeptTransaction], bool] = lambda _: True) -> LogMinerPosition:
        """The position without the kept transactions for which `wanted` is true: it begins where they are mined again from their
        start. The same object when there is none."""
        if not any(map(wanted, self.kept)):
            return self
        kept = tuple(one for one in self.kept if not wanted(one))
        threads = dict(self.threads)
        for one in self.kept:
            mark = threads.get(one.thread)
            if wanted(one) and mark is not None and one.start.rs_id < mark.resume.rs_id:
                threads[one.thread] = replace(mark, resume=RedoAddress(one.start.rs_id), resume_scn=one.scn)
        left = {one.thread for one in kept}
        for thread, mark in threads.items():
            if thread not in left:
                threads[thread] = replace(mark, kept_to=None, kept_to_scn=0)
        return replace(self, threads=threads, kept=kept)

    def precedes(self, other: Self) -> bool:
        """True when going from `other` to this position would go backwards: in what is delivered, or in where a restart mines
        from, with kept transactions mined again. So it is when a thread of `other` is missing here. Of positions of two
        incarnations the one of the older incarnation precedes; nothing else counts then. A position that was made whole may begin
        earlier."""
        if self.resetlogs != other.resetlogs:
            return self.resetlogs < other.resetlogs
        begins = self.mined_again().threads
        for thread, theirs in other.mined_again().threads.items():
            ours = begins.get(thread)
            if ours is None or (ours.resume < theirs.resume and (other.whole or not self.whole)):
                return True
            if _place(ours.last_commit) < _place(theirs.last_commit) or _place(ours.last_ddl) < _place(theirs.last_ddl):
                return True
        return self.snapshot_scn < other.snapshot_scn

    @property
    def of(self) -> DatabaseIdentity:
        """The database and the incarnation that it is of."""
        return DatabaseIdentity(self.dbid, self.resetlogs)

    @property
    def delivered_scn(self) -> int:
        """Highest SCN of what was delivered: of the snapshot, or of a commit in any thread; 0 for nothing."""
        return max(self.snapshot_scn, *(mark.last_commit_scn for mark in self.threads.values()), 0)

    @property
    def reached_scn(self) -> int:
        """Highest SCN that the position knows of: the database has come to it, or is not the one that the position is of."""
        return max(self.delivered_scn, *(mark.resume_scn for mark in self.threads.values()), 0)

    def __str__(self) -> str:
        """Where each thread is read from after a restart, for the log."""
        threads = [
            f"thread {thread} at redo address {mark.resume.rs_id} (SCN {mark.resume_scn})"
            for thread, mark in sorted(self.threads.items())
        ]
        kept = [f"{len(self.kept)} open transactions kept in files"] if self.kept else []
        return ", ".join(threads + kept) or f"SCN {self.start_scn}"

    def to_json(self) -> dict[str, JsonValue]:
        """As plain JSON; SCNs as text, since they exceed 2**53."""
        threads: dict[str, JsonValue] = {str(thread): mark.to_json() for thread, mark in sorted(self.threads.items())}
        return {
            "threads": threads,
            "start_scn": str(self.start_scn),
            "snapshot_scn": str(self.snapshot_scn),
            "resetlogs": str(self.resetlogs),
            **({"given_up": list[JsonValue](sorted(self.given_up))} if self.given_up else {}),
            **({"kept": list[JsonValue](one.to_json() for one in self.kept)} if self.kept else {}),
            **({"pdbs": list[JsonValue](self.pdbs)} if self.pdbs else {}),
            **({"dbid": str(self.dbid)} if self.dbid else {}),
            **({} if self.whole else {"whole": False}),
            **({"con_dbids": {name: " ".join(map(str, one)) for name, one in self.pdb_ids.items()}} if self.pdb_ids else {}),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> LogMinerPosition:
        """The position of which `to_json` made `saved`. Raises KeyError, ValueError, TypeError or AttributeError for anything
        else."""
        threads = {int(thread): ThreadMark.from_json(mark) for thread, mark in saved["threads"].items()}
        return cls(
            threads,
            int(saved["start_scn"]),
            int(saved["snapshot_scn"]),
            int(saved["resetlogs"]),
            frozenset(map(str, saved.get("given_up", ()))),
            tuple(map(KeptTransaction.from_json, saved.get("kept", ()))),
            pdbs=tuple(map(str, saved.get("pdbs", ()))),
            dbid=int(saved.get("dbid", 0)),
            whole=bool(saved.get("whole", True)),
            pdb_ids={str(name): PdbIdentity(*map(int, one.split())) for name, one in saved.get("con_dbids", {}).items()},
        )


class Resumes:
    """Where positions had mining begin after a restart, by thread: no later one goes back.

    A transaction that has changed nothing captured holds no position back. Once it does, its START may lie before them; its rows lie
    after them.
    """

    def __init__(self) -> None:
        self._given: dict[int, tuple[RedoAddress, int]] = {}

    def furthest(self, thread: int, resume: RedoAddress, scn: int) -> tuple[RedoAddress, int]:
        """`resume` and its SCN, or what an earlier position had where that lies after it."""
        given = self._given.get(thread)
        if given is None or given[0].rs_id < resume.rs_id:
            given = self._given[thread] = resume, scn
        return given


def _place(address: RedoAddress | None) -> RedoAddress:
    return address or RedoAddress("")
