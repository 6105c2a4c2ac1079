"""Makes the position where streaming begins, and checks whether it can go on from a stored one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace

import oracledb

from minercdc.capture.adapter import Secondary
from minercdc.capture.logminer.database_identity import check_database
from minercdc.capture.logminer.kept.files import KeptFiles
from minercdc.capture.logminer.kept.keeping import KeepingRules, Loaded, Lost, unusable
from minercdc.capture.logminer.logs.redo_logs import (
    MinedElsewhere,
    begin_scn,
    read_ended,
    read_history,
    read_logs,
    read_threads,
    select_logs,
    unique_logs,
    with_former,
)
from minercdc.capture.logminer.position import LogMinerPosition
from minercdc.config.source.log_mining import LogMiningConfig
from minercdc.errors import ConfigError, LogGapError
from minercdc.oracle.scn import database_identity

Connect = Callable[[], oracledb.Connection]


def start_position(connect: Connect, snapshot_scn: int, mine_from: int, pdbs: tuple[str, ...] = ()) -> LogMinerPosition:
    """Where streaming begins after a snapshot as of `snapshot_scn`: redo is read from the lower of both SCNs on, and commits and
    DDL at or below `snapshot_scn` are dropped.

    :param mine_from: an SCN at or below the start of every transaction that commits after `snapshot_scn`.
    :param connect: opens a connection, which is closed here.
    :param pdbs: names of the pluggable databases that are captured, when there are several; () for one database.
    :raises SourceError, PrerequisiteError, ConfigError: connecting failed, or V$DATABASE cannot be read.
    """
    with closing(connect()) as connection:
        found = database_identity(connection)
    since = min(mine_from, snapshot_scn)
    return LogMinerPosition({}, since, snapshot_scn, found.resetlogs, pdbs=pdbs, dbid=found.dbid)


def with_pdbs(position: LogMinerPosition, pdbs: tuple[str, ...]) -> LogMinerPosition:
    """A stored position for the pluggable databases `pdbs`, which are captured now; () for a single database. The same object
    when they are those of the position; some of those may be missing now. Raises ConfigError when one was added, or when it
    is a single database now and was not, or the other way round."""
    if position.pdbs == pdbs:
        return position
    if bool(position.pdbs) != bool(pdbs):
        before = f"of {', '.join(position.pdbs)}" if position.pdbs else "of a single database"
        problem = f"the offset is {before}: topic names change between one and several pluggable databases"
    elif added := sorted(set(pdbs) - set(position.pdbs)):
        problem = f"{', '.join(added)}: added since the offset was stored, so existing rows would be missing"
    else:
        return replace(position, pdbs=pdbs)
    raise ConfigError(
        [f"database.pdb.name: {problem}"],
        hint="Use this list for a new connector with its own name and topic.prefix, or restore the property.",
    )


def missing(
    connect: Connect,
    position: LogMinerPosition,
    config: LogMiningConfig,
    files: KeptFiles,
    rules: KeepingRules | None,
    secondary: Secondary | None = None,
) -> LogGapError | None:
    """As `missing_redo`: the error that says why the stream cannot go on, None when it can. Kept transactions whose files are not
    there, or damaged, need the redo from their start. Raises as `missing_redo` and `KeptFiles.damage`.

    :param rules: of what is kept; None: this way of mining can use no files of kept transactions.
    :param secondary: where LogMiner runs, if not in the source.
    """
    lost = unusable(position, files, rules)
    if position.kept:
        # Redo from the start of all of them makes up for any damage: no file has to be read then.
        if missing_redo(connect, position.mined_again(lambda _: True), config, secondary) is None:
            return None
        whole = [kept for kept in position.kept if kept.key not in lost]
        lost |= {kept.key: (kept, damage) for kept in whole if (damage := files.damage(kept))}
    gap = missing_redo(connect, position.mined_again(lambda kept: kept.key in lost), config, secondary)
    return _described(gap, tuple(lost.values()))


def check_lost(connect: Connect, loaded: Loaded, config: LogMiningConfig, secondary: Secondary | None = None) -> None:
    """Check that transactions in `loaded.lost` can be mined again from their start; without any, nothing is read. Raises
    LogGapError when that redo is gone, and as `missing_redo`."""
    if loaded.lost and (gap := _described(missing_redo(connect, loaded.position, config, secondary), loaded.lost)):
        raise gap


def _described(gap: LogGapError | None, lost: tuple[Lost, ...]) -> LogGapError | None:
    if gap is None or not lost:
        return gap
    listed = "; ".join(f"{kept}, from redo address {kept.start.rs_id}: {reason}" for kept, reason in lost)
    return LogGapError(
        f"open transactions must be mined again from their start, but that redo no longer exists ({gap.message}): {listed}",
        hint="Restore the files in minercdc.state.dir (minercdc.log.mining.buffer.durable=topic keeps copies), or the archived log. Without them the changes of these transactions are lost:"
        " `minercdc offsets set CONFIG --scn N` continues from an SCN, without the open transactions of which redo no longer exists; a new snapshot"
        " (`minercdc offsets reset CONFIG`) includes everything that has been committed by then.",
    )


def missing_redo(
    connect: Connect, position: LogMinerPosition, config: LogMiningConfig, secondary: Secondary | None = None
) -> LogGapError | None:
    """The error that says why the stream cannot go on from a position, returned and not raised: redo that it needs is gone, or the
    database is not the one that it is of (`check_database`). None when it can go on; also when a log that a downstream database has
    not received is still in the source, from where it may be shipped. Opens connections and closes them. Raises SourceError,
    PrerequisiteError and ConfigError when connecting fails or a database cannot be read."""
    with closing(connect()) as connection, closing(secondary.connect()) if secondary else nullcontext() as other:
        try:
            mined = MinedElsewhere(other, secondary.is_downstream) if other and secondary else None
            check_database(connection, position)
            begins = {thread: mark.resume for thread, mark in position.threads.items()}
            threads = with_former(read_threads(connection), read_history(connection), begins, position.start_scn)
            if mined is not None:  # the last logs of a thread may still arrive
                threads = [replace(one, last_sequence=0) for one in threads]
            first_scn = begin_scn(position, threads)
            logs = read_logs(connection, first_scn, config.archive_destination_name, mined)
            received = mined is not None and mined.is_downstream
            if received:
                logs = unique_logs([*logs, *read_logs(connection, first_scn)])
            first, most = position.start_scn, max(len(logs), 1)
            archived_only = config.log_mining_archive_log_only_mode
            ended = read_ended(connection, first)
            select_logs(logs, threads, begins, first, most, archived_only=archived_only, ended=ended, received=received)
        except LogGapError as gap:
            return gap
    return None
