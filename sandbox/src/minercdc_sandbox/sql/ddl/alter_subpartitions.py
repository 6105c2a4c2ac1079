"""ALTER TABLE .. SUBPARTITION, and what MODIFY PARTITION does to subpartitions: as `alter_partitions`, one level below.

A statement of several subpartitions may name those of several partitions; DROP leaves each partition at least one (SQL Language
Reference, ALTER TABLE, "drop_table_subpartition").
"""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.partitioning import Bound, Partitioning, TablePartition, is_below
from minercdc_sandbox.sql.ddl.partition_changes import (
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
    described_parts,
    set_template,
)
from minercdc_sandbox.sql.dml.partitions import new_subpartition
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.partitions import (
    subpartition_spec,
    template_of,
)
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.storage.relocation import rewrite
from minercdc_sandbox.tables import Table


def _subpartitions(
    session: SqlSession, parser: Parser, table: Table, by: Partitioning
) -> list[tuple[TablePartition, Partitioning, TablePartition]]:
    """Read `SUBPARTITION[S] name | FOR (values), ..`: of each its partition, what that is divided into, and the subpartition.
    Raises ORA-14251, and as `bound_cells`. Syntax errors are those of `Parser`."""
    parser.any_word("SUBPARTITION", "SUBPARTITIONS")
    return parser.listed(lambda: _subpartition(session, parser, table, by))


def _subpartition(
    session: SqlSession, parser: Parser, table: Table, by: Partitioning
) -> tuple[TablePartition, Partitioning, TablePartition]:
    at = parser.token.start
    if parser.word("FOR"):
        parser.expect_op("(")
        key = bound_cells(session, table, by.key_columns, list(parser.expressions()), at)
        parser.expect_op(")")
        found = by.holding(tuple(cell for cell in key if not isinstance(cell, int)))
        name = found.name if found is not None else ""
    else:
        name = parser.name()
    partition, one = by.named_subpartition(name, at)
    assert partition.subpartitions is not None
    return partition, partition.subpartitions, one


def _check_added(partition: TablePartition, made: TablePartition, at: int) -> None:
    """As `check_values`, of a subpartition that is added to a partition."""
    if any(not other.keys for other in partition.segments()):
        raise OraError(14621, "cannot add subpartition when DEFAULT subpartition exists", at)
    for other in partition.segments():
        if set(other.keys) & set(made.keys):
            raise OraError(14622, f"Value already exists in subpartition {other.name} of partition {partition.name}", at)


def add_subpartitions(
    session: SqlSession, parser: Parser, table: Table, partition: TablePartition, level: Partitioning
) -> None:
    """Read the rest of MODIFY PARTITION .. ADD, and do it: `SUBPARTITION [name] [VALUES ..], ..`."""
    specs = parser.listed(lambda: subpartition_spec(parser, level.method))
    end_of_change(parser)
    for spec in specs:
        [(name, text, keys)] = described_parts(session, table, level, [spec])
        made = new_subpartition(session, table, partition, name, text, keys)
        if level.method == "RANGE" and not is_below(level.partitions[-1].keys[0], keys[0]):
            raise OraError(14211, "subpartition bound must collate higher than that of the last subpartition", spec.at)
        if level.method == "LIST":
            _check_added(partition, made, spec.at)
        level.partitions.append(made)
    if level.method == "HASH":
        rewrite(session.storage, table, [one.number for one in level.partitions])


def coalesce_subpartition(session: SqlSession, parser: Parser, table: Table, level: Partitioning, at: int) -> None:
    """Read the rest of MODIFY PARTITION .. COALESCE, and do it: one hash subpartition less."""
    parser.expect_word("SUBPARTITION")
    end_of_change(parser)
    if level.method != "HASH" or len(level.partitions) == 1:
        raise OraError(14285, "cannot COALESCE the only partition of this hash partitioned table or index", at)
    gone = level.partitions.pop()
    rewrite(session.storage, table, [gone.number])
    session.catalog.forget_partition(gone)


def _drop_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    assert by.divided is not None
    if by.divided.method == "HASH":
        raise OraError(14206, "table is not subpartitioned by List or Range methods", at)
    found = _subpartitions(session, parser, table, by)
    end_of_change(parser)
    gone = [one for _, _, one in found]
    if any(all(any(one is other for other in gone) for one in level.partitions) for _, level, _ in found):
        raise OraError(14629, "cannot drop the only subpartition of a partition", at)
    refuse_children(session, table)
    for _, level, one in found:
        level.partitions = [other for other in level.partitions if other is not one]
    end_segments(session, table, gone)
    for one in gone:
        session.catalog.forget_partition(one)


def _truncate_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    empty(session, parser, table, by, [one for _, _, one in _subpartitions(session, parser, table, by)])


def _move_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    relocate(session, parser, table, by, [one for _, _, one in _subpartitions(session, parser, table, by)])


def _rename_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    [(_, _, one)] = _subpartitions(session, parser, table, by)
    parser.expect_word("TO")
    at, name = parser.token.start, parser.name()
    parser.end()
    if any(other.name == name for other in by.segments()):
        raise OraError(14263, "new subpartition name must differ from that of any other subpartition of the object", at)
    one.name = name


def _split_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [(partition, level, old)] = _subpartitions(session, parser, table, by)

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_subpartition(session, table, partition, name, text, keys)

    split_one(session, parser, table, level, old, at, "SUBPARTITION", made)


def _merge_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    found = _subpartitions(session, parser, table, by)
    partition, level, _ = found[0]
    if any(other is not level for _, other, _ in found):
        raise OraError(14274, "partitions being merged are not adjacent", at)

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_subpartition(session, table, partition, name, text, keys)

    merge_some(session, parser, table, level, [one for _, _, one in found], at, "SUBPARTITION", made)


def _modify_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [(_, level, one)] = _subpartitions(session, parser, table, by)
    modify_values(session, parser, table, level, one, at)


def _exchange_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    [(_, _, one)] = _subpartitions(session, parser, table, by)
    exchange_with(session, parser, table, by, one)


def _set_template(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    assert by.divided is not None
    parser.expect_word("SUBPARTITION")
    parser.expect_word("TEMPLATE")
    specs = template_of(parser, by.divided.method)
    parser.end()
    set_template(session, table, specs)


SUBPARTITION_CHANGES: dict[str, Callable[[SqlSession, Parser, Table, Partitioning], None]] = {
    "DROP": _drop_subpartitions,
    "EXCHANGE": _exchange_subpartition,
    "MERGE": _merge_subpartitions,
    "MODIFY": _modify_subpartition,
    "MOVE": _move_subpartitions,
    "RENAME": _rename_subpartition,
    "SET": _set_template,
    "SPLIT": _split_subpartition,
    "TRUNCATE": _truncate_subpartitions,
}
