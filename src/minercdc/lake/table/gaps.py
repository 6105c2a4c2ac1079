"""Finds the SCNs at which a lake table is incomplete, with the reason; pure.

    partition DDL takes, brings rows   redo has no trace of them          until the table is read again
    MOVE, SHRINK of a table by ROWID   rows have other ROWIDs             until the table is read again
    records of its topic are lost      deleted topic, or retention        until the table is read again
    the connector leaves rows out      suspended, or not read yet         until the connector has read the table again

A table is read again by an initial snapshot, `lake snapshot` or `lake rebuild`. A CREATE TABLE ends the first three. Where records that are
lost may be of that snapshot, or of changes after it or the CREATE, it ends nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from minercdc.lake.table.history import TableHistory
from minercdc.lake.table.state import Entry


@dataclass(frozen=True, slots=True)
class Gap:
    """A lake table lacks something from commit SCN `since` on.

    :param cause: a clause, such as `rows of it are left out since SCN 7: ..`.
    :param hint: what repairs it.
    :param final: no later record repairs it: the table is merged up to the gap and no further, until it is read again.
    """

    since: int
    cause: str
    hint: str
    final: bool = True


def read_scn(name: str, noted: Sequence[Entry], applied: int) -> int:
    """SCN as of which a table was read from Oracle last, not above the SCN that it is merged up to; 0 for none.

    :param noted: entries of the lake's record; those of kind `read` count.
    :param applied: SCN that it is merged up to.
    """
    return max((e.scn for e in noted if e.kind == "read" and e.name == name and e.scn <= applied), default=0)


def kept_since(table: TableHistory, noted: Sequence[Entry], scn: int) -> int | None:
    """The SCN from which on the topic has all of a table up to `scn`, under its present name; None when it lacks something.

    A topic has all of a table from an initial snapshot or CREATE TABLE on, unless something is lost since.

    :param noted: entries of the lake's record; those of kind `lost` count.
    """
    since = max((at for at in (*table.reads, *table.created) if at <= scn), default=None)
    if since is None or any(since <= at <= scn for at, _ in table.renamed_from):
        return None
    losses = [(at, at) for at, _ in table.lost + table.moved]
    losses += [(e.scn, max(e.scn, e.version)) for e in _losses(noted) if e.name == table.topic]
    return None if any(begin <= scn and since <= end for begin, end in losses) else since


def last_read(table: TableHistory | None, scn: int) -> int:
    """The SCN after which an initial snapshot, or a CREATE TABLE, is of the time after a deletion of a topic that was met at the mark of an
    SCN: the topic that is gone may have had the rows of those before.

    :param table: of the topic, as the history has it by then; None where it has none.
    """
    return scn if table is None else max([scn, *table.reads, *table.created])


def gap_at(table: TableHistory, noted: Sequence[Entry], scn: int, *, by_rowid: bool) -> Gap | None:
    """The first gap that a table has at an SCN; None when the lake has all that the source had then, or the source had no table.

    :param noted: entries of the lake's record, of kind `lost`, `read`, `suspended` and `resumed`, in order.
    :param by_rowid: the lake finds the table's rows by ROWID.
    """
    if not table.exists_at(scn):
        return None
    names = (table.name, table.topic)
    # What happened to an earlier name counts up to the rename. The connector renames what is suspended by itself.
    mine = [e for e in noted if e.name in names or (e.kind in ("lost", "read") and e.scn < table.earlier.get(e.name, 0))]
    final = [
        gap for gap, ends in _final(table, mine, by_rowid=by_rowid) if gap.since <= scn and not any(e <= scn for e in ends)
    ]
    return min([*final, *_left_out(mine, scn)], key=lambda gap: gap.since, default=None)


def _final(table: TableHistory, noted: Sequence[Entry], *, by_rowid: bool) -> Iterator[tuple[Gap, list[int]]]:
    """Each gap, with the SCNs at which it ends.

    :param noted: of the table, in order.
    """
    rebuild = f"Read it again: minercdc lake rebuild CONFIG --table {shlex.quote(table.name)}"
    known, read = [*table.reads, *table.created], [entry for entry in noted if entry.kind == "read"]
    own = [entry.scn for entry in read if entry.name == table.name]
    came = [scn for scn, _ in table.renamed_from]  # other rows, in the place of those of before
    for scn, ddl in table.lost:
        yield Gap(scn, _removed(scn, ddl), rebuild), _since(scn, [*known, *own, *came])
    for scn, ddl in table.moved if by_rowid else ():
        yield Gap(scn, _moved(scn, ddl), rebuild), _since(scn, [*known, *own, *came])
    for one in table.handed:
        if by_rowid or not one.moved:
            cause = (_moved if one.moved else _removed)(one.scn, one.ddl)
            before = [entry.scn for entry in read if entry.name != table.name and one.scn <= entry.scn < one.at]
            yield Gap(one.at, cause, rebuild), [*_since(one.at, [*known, *own]), *_since(one.at + 1, came), *before]
    met: dict[tuple[str, int, str], int] = {}  # the place of each loss's first entry in `noted`
    for place, entry in enumerate(noted):
        if entry.kind == "lost":
            met.setdefault(_place(entry), place)
    for loss in _losses(noted):
        # Before the rows came to this name, it was another table's.
        taken = 0 if loss.name in (table.name, table.topic) else table.earlier.get(loss.name, 0)
        # What an initial snapshot read, and what came after it or a CREATE TABLE, may be among the records that are lost.
        ends = _since(max(loss.scn, loss.version + 1, taken), known)
        # A table that was read from Oracle before the loss was met may lack changes after that.
        begun = met[_place(loss)]
        mine = [
            i for i, entry in enumerate(noted) if entry.kind == "read" and (entry.name != table.name or entry.scn >= taken)
        ]
        ends += _since(max(loss.scn, loss.version), [noted[i].scn for i in mine if i < begun])
        ends += _since(loss.scn, [noted[i].scn for i in mine if i > begun])
        yield Gap(loss.scn, loss.detail, rebuild), ends


def _removed(scn: int, ddl: str) -> str:
    return f"rows were removed or added at SCN {scn} without redo: {ddl}"


def _moved(scn: int, ddl: str) -> str:
    return f"it has no key, and the ROWIDs of its rows changed at SCN {scn}: {ddl}"


def _since(scn: int, scns: Iterable[int]) -> list[int]:
    return [one for one in scns if one >= scn]


def _place(loss: Entry) -> tuple[str, int, str]:
    return loss.name, loss.scn, loss.detail


def _losses(noted: Iterable[Entry]) -> Iterable[Entry]:
    """The entries of kind `lost`, one of each loss: that which knows the first record that is left, if there is one."""
    found: dict[tuple[str, int, str], Entry] = {}
    for entry in noted:
        if entry.kind == "lost":
            known = found.get(_place(entry), entry)
            found[_place(entry)] = min(known, entry, key=lambda one: one.version)
    return found.values()


def _left_out(noted: Sequence[Entry], scn: int) -> Iterator[Gap]:
    """What the connector left out, and has not read again, at an SCN; one at most.

    :param noted: of the table, oldest first.
    """
    begun: Entry | None = None
    for entry in noted:
        if entry.kind == "suspended" and begun is None:
            begun = entry
        elif entry.kind == "resumed" and begun is not None:
            if begun.scn <= scn < entry.scn:
                break
            begun = None
    if begun is not None and begun.scn <= scn:
        yield Gap(
            begun.scn, begun.detail, "The connector reads it again once the cause is repaired: see its log.", final=False
        )
