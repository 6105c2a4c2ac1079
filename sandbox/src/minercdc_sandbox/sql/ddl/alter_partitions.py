"""ALTER TABLE .. PARTITION and SUBPARTITION, without redo of the rows that are moved or ended (docs/reference/logminer-facts.md#b-8).

    ADD, SPLIT, MERGE       new objects: new DATA_OBJ# in the redo from then on
    TRUNCATE, MOVE          a new data object id, DATA_OBJD#
    EXCHANGE                table and partition change data object ids, their rows keep their ROWIDs
    DROP                    redo that names the object is of an unknown table from then on

What is done to a partition with subpartitions is done to them, and to a subpartition what is done to a partition; a partition that
SPLIT makes is divided as the old one was, one that MERGE makes as the template says (SQL Language Reference, ALTER TABLE,
"alter_table_partitioning").
Indexes always stay usable, as with UPDATE INDEXES in Oracle; without it, its global ones become UNUSABLE.
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.partitioning import Bound, Partitioning, TablePartition, is_below
from minercdc_sandbox.sql.ddl.alter_subpartitions import SUBPARTITION_CHANGES, add_subpartitions, coalesce_subpartition
from minercdc_sandbox.sql.ddl.partition_changes import (
    check_values,
    empty,
    end_of_change,
    end_segments,
    exchange_with,
    merge_some,
    modify_values,
    refuse_children,
    relocate,
    split_one,
)
from minercdc_sandbox.sql.ddl.partitions import (
    bound_cells,
    described_partition,
    interval_step,
)
from minercdc_sandbox.sql.dml.partitions import Part, new_partition
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.partitions import (
    interval_of,
    partition_spec,
)
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.storage.relocation import live_rows, put_rows, rewrite
from minercdc_sandbox.storage.store import segment
from minercdc_sandbox.tables import Table


def is_of_partitions(parser: Parser) -> bool:
    """Whether the next words of an ALTER TABLE, after the table's name, change partitions; reads none of them."""
    if parser.is_word("SET", "INTERVAL") or parser.is_word("SET", "SUBPARTITION"):
        return True
    return parser.token.text in _CHANGES and parser.peek().text in (
        "PARTITION",
        "PARTITIONS",
        "SUBPARTITION",
        "SUBPARTITIONS",
    )


def alter_partitions(session: SqlSession, parser: Parser, table: Table) -> None:
    """Read and apply a change of partitions; the caller holds the storage lock and the table alone, and logs the DDL. Raises
    ORA-14501 for a table without partitions, ORA-14253 for one without subpartitions, ORA-03001 for changes of them that are not
    implemented, of the changes ORA-02149, ORA-02266, those between ORA-14004 and ORA-14760, ORA-00905 and others of `Parser` for
    wrong syntax, as `bound_cells`, `interval_of` and `interval_step`, and of EXCHANGE as `target_table` and `take_alone`."""
    at = parser.token.start
    by = table.partitioning
    if by is None:
        raise OraError(14501, "object is not partitioned", at)
    if parser.word("SET", "INTERVAL"):
        parser.at -= 1
        by.interval = interval_step(session, table, *interval_of(parser), at)
        parser.end()
        return
    word = parser.take().text
    if parser.is_any_word("SUBPARTITION", "SUBPARTITIONS"):
        if by.divided is None:
            raise OraError(14253, "table is not partitioned by Composite Partition method", at)
        change = SUBPARTITION_CHANGES.get(word)
        if change is None:
            raise OraError(3001, f"unimplemented feature: ALTER TABLE {word} SUBPARTITION", at)
        change(session, parser, table, by)
    else:
        _CHANGES[word](session, parser, table, by)
    session.catalog.note_segments(table)


def _names(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> list[TablePartition]:
    """Read `PARTITION[S] name | FOR (values), ..`: the partitions in that order. Raises ORA-02149, and as `bound_cells`. Syntax
    errors are those of `Parser`."""
    parser.any_word("PARTITION", "PARTITIONS")
    return parser.listed(lambda: _name(session, parser, table, by))


def _name(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> TablePartition:
    at = parser.token.start
    if not parser.word("FOR"):
        return by.named(parser.name(), at)
    parser.expect_op("(")
    key = bound_cells(session, table, by.columns, list(parser.expressions()), at)
    parser.expect_op(")")
    found = by.partition_of(tuple(cell for cell in key if not isinstance(cell, int)))
    if found is None:
        raise OraError(2149, "Specified partition does not exist", at)
    return found


def _add(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    if by.interval is not None:
        raise OraError(14760, "ADD PARTITION is not permitted on Interval partitioned objects", at)
    specs = parser.listed(lambda: partition_spec(parser, by.method, by.divided.method if by.divided is not None else None))
    end_of_change(parser)
    for spec in specs:
        made = described_partition(session, table, spec)
        if by.method == "RANGE" and not is_below(by.partitions[-1].keys[0], made.keys[0]):
            raise OraError(14074, "partition bound must collate higher than that of the last partition", spec.at)
        if by.method == "LIST":
            check_values(by, made, spec.at)
        by.partitions.append(made)
    if by.method == "HASH":
        rewrite(session.storage, table, [one.number for one in by.segments()])


def _drop(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    if by.method == "HASH":
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method", at)
    gone = _names(session, parser, table, by)
    end_of_change(parser)
    left = [partition for partition in by.partitions if all(partition is not other for other in gone)]
    if not left:
        raise OraError(14083, "cannot drop the only partition of a partitioned table", at)
    if by.interval is not None and by.method == "RANGE" and all(partition.automatic for partition in left):
        raise OraError(14758, "Last partition in the range section cannot be dropped", at)
    refuse_children(session, table)
    by.partitions = left
    end_segments(session, table, gone)
    for partition in gone:
        session.catalog.forget_partition(partition)


def _truncate(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    empty(session, parser, table, by, _names(session, parser, table, by))


def _move(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    moved = _names(session, parser, table, by)
    if by.divided is not None:
        raise OraError(14257, "cannot move partition other than a Range, List, System, or Hash partition", at)
    relocate(session, parser, table, by, moved)


def _rename(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    [partition] = _names(session, parser, table, by)
    parser.expect_word("TO")
    at, name = parser.token.start, parser.name()
    parser.end()
    if any(other.name == name for other in by.partitions):
        raise OraError(14082, "new partition name must differ from that of any other partition of the object", at)
    partition.name = name


def _split(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [old] = _names(session, parser, table, by)
    parts: list[Part] | None = None
    if old.subpartitions is not None:
        parts = [(None, one.bound, list(one.keys)) for one in old.segments()]

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_partition(session, table, name, text, keys, parts=parts)

    split_one(session, parser, table, by, old, at, "PARTITION", made)


def _merge(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    merged = _names(session, parser, table, by)

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_partition(session, table, name, text, keys)

    merge_some(session, parser, table, by, merged, at, "PARTITION", made)


def _modify(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [partition] = _names(session, parser, table, by)
    if (
        partition.subpartitions is not None
        and parser.is_any_word("ADD", "COALESCE")
        and parser.peek().text == "SUBPARTITION"
    ):
        if parser.take().text == "ADD":
            add_subpartitions(session, parser, table, partition, partition.subpartitions)
        else:
            coalesce_subpartition(session, parser, table, partition.subpartitions, at)
        return
    modify_values(session, parser, table, by, partition, at)


def _coalesce(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    parser.word("PARTITION")
    end_of_change(parser)
    if by.method != "HASH":
        raise OraError(14259, "table is not partitioned by Hash method", at)
    if len(by.partitions) == 1:
        raise OraError(14285, "cannot COALESCE the only partition of this hash partitioned table or index", at)
    gone = by.partitions.pop()
    rewrite(session.storage, table, [one.number for one in gone.segments()])
    session.catalog.forget_partition(gone)


def _exchange(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [partition] = _names(session, parser, table, by)
    if partition.subpartitions is not None:
        raise OraError(14291, "cannot EXCHANGE a composite partition with a non-partitioned table", at)
    exchange_with(session, parser, table, by, partition)


def move_table(session: SqlSession, parser: Parser, table: Table) -> None:
    """Read and apply ALTER TABLE MOVE: a new data object id and new ROWIDs, without redo of the rows; the caller holds the table
    alone. Raises ORA-14511 for a partitioned table. Syntax errors are those of `Parser`."""
    at = parser.token.start
    parser.expect_word("MOVE")
    end_of_change(parser)
    if table.partitioning is not None:
        raise OraError(14511, "cannot perform operation on a partitioned object", at)
    storage = session.storage
    rows = live_rows(storage, table)
    storage.segments.drop(segment(table))
    old, table.data_object_id, table.next_rid = table.data_object_id, session.catalog.new_object_id(), len(rows)
    storage.lobs.move(old, table.data_object_id)
    storage.segments.create(table)
    put_rows(storage, table, [(rid, row) for rid, (_, row) in enumerate(rows)])


_CHANGES: dict[str, Callable[[SqlSession, Parser, Table, Partitioning], None]] = {
    "ADD": _add,
    "COALESCE": _coalesce,
    "DROP": _drop,
    "EXCHANGE": _exchange,
    "MERGE": _merge,
    "MODIFY": _modify,
    "MOVE": _move,
    "RENAME": _rename,
    "SPLIT": _split,
    "TRUNCATE": _truncate,
}
