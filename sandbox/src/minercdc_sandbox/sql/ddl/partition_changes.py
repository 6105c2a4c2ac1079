"""The steps of ALTER TABLE .. PARTITION that are the same for SUBPARTITION: they read the rest of the statement, and do it."""

from __future__ import annotations

from collections.abc import Callable

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.partitioning import ROW_MASK, Bound, Partitioning, TablePartition, is_below
from minercdc_sandbox.sql.ddl.exclusive import take_alone
from minercdc_sandbox.sql.ddl.partitions import (
    bound_cells,
)
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.definitions import physical_options
from minercdc_sandbox.sql.parse.partitions import (
    PartitionSpec,
    bounds,
)
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.storage.relocation import end_rows, live_rows, put_rows, rewrite
from minercdc_sandbox.storage.store import segment
from minercdc_sandbox.tables import Table


def end_of_change(parser: Parser) -> None:
    """Read clauses that may follow, without effect here, and the end of the statement: indexes stay usable anyway. Raises
    ORA-00933 for anything else, and as `physical_options`."""
    physical_options(parser)
    if parser.any_word("UPDATE", "INVALIDATE"):
        parser.word("GLOBAL")
        parser.expect_word("INDEXES")
    parser.end()


def check_values(by: Partitioning, made: TablePartition, at: int) -> None:
    """Raise ORA-14323 or ORA-14312 when LIST partitions leave no room for another, `made`."""
    if any(not other.keys for other in by.partitions):
        raise OraError(14323, "cannot add partition when DEFAULT partition exists", at)
    for other in by.partitions:
        if set(other.keys) & set(made.keys):
            raise OraError(14312, f"Value already exists in partition {other.name}", at)


def end_segments(session: SqlSession, table: Table, parts: list[TablePartition]) -> None:
    """End the rows of partitions, or subpartitions, without redo."""
    end_rows(session.storage, table, [one.number for partition in parts for one in partition.segments()])


def refuse_children(session: SqlSession, table: Table) -> None:
    """Raise ORA-02266 when a foreign key of another table refers to this one."""
    if any(child is not table for child, _ in session.catalog.children_of(table)):
        raise OraError(2266, "unique/primary keys in table referenced by enabled foreign keys")


def empty(session: SqlSession, parser: Parser, table: Table, by: Partitioning, emptied: list[TablePartition]) -> None:
    """Read the rest of a TRUNCATE of partitions or subpartitions, and do it."""
    if parser.any_word("DROP", "REUSE"):
        parser.word("ALL")
        parser.expect_word("STORAGE")
    parser.word("CASCADE")
    end_of_change(parser)
    refuse_children(session, table)
    end_segments(session, table, emptied)
    for partition in emptied:
        for one in partition.segments():
            _renew(session, by, one)


def _renew(session: SqlSession, by: Partitioning, partition: TablePartition) -> None:
    """Give a partition storage of its own, empty, with a new data object id and number; what its rows become is the caller's.
    Raises ORA-14299."""
    partition.data_object_id = session.catalog.new_object_id()
    partition.number_as(by.new_number())


def relocate(session: SqlSession, parser: Parser, table: Table, by: Partitioning, moved: list[TablePartition]) -> None:
    """Read the rest of a MOVE of partitions or subpartitions, and do it."""
    parser.word("ONLINE")
    end_of_change(parser)
    for partition in moved:
        before = partition.number
        _renew(session, by, partition)
        rewrite(session.storage, table, [before])


def split_one(
    session: SqlSession,
    parser: Parser,
    table: Table,
    by: Partitioning,
    old: TablePartition,
    at: int,
    word: str,
    made: Callable[[str | None, str | None, list[Bound]], TablePartition],
) -> None:
    """Read the rest of a SPLIT, and do it. `by`: what `old` is a part of; `word`: what parts are called; `made`: makes one."""
    if by.method == "HASH":
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method", at)
    place = by.partitions.index(old)
    spec = PartitionSpec(None, None, [], at)
    if not (parser.word("AT") if by.method == "RANGE" else parser.word("VALUES")):
        raise OraError(3001, f"unimplemented feature: SPLIT {word} into more than two", parser.token.start)
    bounds(parser, by.method, spec)
    names = _two_names(parser, word)
    end_of_change(parser)
    keys = [bound_cells(session, table, by.columns, bound, at) for bound in spec.bounds]
    if by.method == "RANGE":
        below = by.partitions[place - 1].keys[0] if place else None
        if not is_below(keys[0], old.keys[0]) or (below is not None and not is_below(below, keys[0])):
            raise OraError(14080, "partition cannot be split along the specified high bound", at)
        rest, rest_text = old.keys, old.bound
    else:
        if old.keys and not set(keys) < set(old.keys):
            raise OraError(14313, f"Value {spec.text} does not exist in partition {old.name.upper()}", at)
        rest = [key for key in old.keys if key not in keys]
        rest_text = _without(old.bound, spec.text) if old.keys else "DEFAULT"
    by.partitions.remove(old)
    by.partitions.insert(place, made(names[0], spec.text, keys))
    by.partitions.insert(place + 1, made(names[1], rest_text, rest))
    rewrite(session.storage, table, [one.number for one in old.segments()])
    session.catalog.forget_partition(old)


def _without(text: str | None, gone: str | None) -> str:
    """A list of values, parted by commas, without some of them, by their text."""
    removed = {part.strip() for part in (gone or "").split(",")}
    return ", ".join(part.strip() for part in (text or "").split(",") if part.strip() not in removed)


def _two_names(parser: Parser, word: str) -> tuple[str | None, str | None]:
    """Read `INTO (PARTITION a, PARTITION b)`, or with `word` SUBPARTITION: the names, None for one that Oracle is to make, as where INTO is left out. Raises
    ORA-14004, ORA-03001 for another number. Syntax errors are those of `Parser`."""
    if not parser.word("INTO"):
        return None, None
    parser.expect_op("(")
    names: list[str | None] = []
    while not names or parser.op(","):
        parser.expect_word(word, 14004, "missing PARTITION keyword")
        names.append(None if parser.token.text in (",", ")") else parser.name())
        physical_options(parser)
        if parser.token.text == "(":
            raise OraError(3001, "unimplemented feature: SUBPARTITION of SPLIT PARTITION", parser.token.start)
    parser.expect_op(")")
    if len(names) != 2:
        raise OraError(3001, f"unimplemented feature: SPLIT {word} into more than two", parser.token.start)
    return names[0], names[1]


def merge_some(
    session: SqlSession,
    parser: Parser,
    table: Table,
    by: Partitioning,
    merged: list[TablePartition],
    at: int,
    word: str,
    made: Callable[[str | None, str | None, list[Bound]], TablePartition],
) -> None:
    """Read the rest of a MERGE, and do it; parameters as of `split_one`."""
    name = None
    if parser.word("INTO", word):
        name = parser.name()
    end_of_change(parser)
    places = sorted(by.partitions.index(partition) for partition in merged)
    if by.method == "HASH" or len(merged) < 2:
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method", at)
    if by.method == "RANGE" and places != list(range(places[0], places[-1] + 1)):
        raise OraError(14274, "partitions being merged are not adjacent", at)
    last = by.partitions[places[-1]]
    if by.method == "RANGE":
        keys, text = last.keys, last.bound
    elif any(not partition.keys for partition in merged):
        keys, text = [], "DEFAULT"
    else:
        keys = [key for partition in merged for key in partition.keys]
        text = ", ".join(partition.bound or "" for partition in merged)
    by.partitions = [partition for partition in by.partitions if all(partition is not other for other in merged)]
    by.partitions.insert(places[0], made(name, text, keys))
    rewrite(session.storage, table, [one.number for partition in merged for one in partition.segments()])
    for partition in merged:
        session.catalog.forget_partition(partition)


def modify_values(
    session: SqlSession, parser: Parser, table: Table, by: Partitioning, partition: TablePartition, at: int
) -> None:
    """Read the rest of a MODIFY of a partition or subpartition, one of `by`, and do it."""
    if physical_options(parser):
        parser.end()
        return
    word = parser.any_word("ADD", "DROP")
    if by.method != "LIST" or word is None or not parser.word("VALUES"):
        raise OraError(3001, "unimplemented feature: this MODIFY PARTITION", at)
    spec = PartitionSpec(None, None, [], at)
    bounds(parser, "LIST", spec)
    end_of_change(parser)
    keys = [bound_cells(session, table, by.columns, bound, at) for bound in spec.bounds]
    if word == "ADD":
        added = TablePartition("", 0, 0, None, 0.0, keys)
        check_values(by, added, at)
        partition.keys = [*partition.keys, *keys]
        partition.bound = f"{partition.bound}, {spec.text}"
        return
    if not set(keys) <= set(partition.keys):
        raise OraError(14313, f"Value {spec.text} does not exist in partition {partition.name}", at)
    rows = [row for one in partition.segments() for _, row in live_rows(session.storage, table, one.number)]
    places = table.positions(by.columns)
    if any(tuple(row[place] for place in places) in keys for row in rows):
        raise OraError(14518, "partition contains rows corresponding to values being dropped", at)
    partition.keys = [key for key in partition.keys if key not in keys]
    partition.bound = _without(partition.bound, spec.text)


def exchange_with(session: SqlSession, parser: Parser, table: Table, by: Partitioning, partition: TablePartition) -> None:
    """Read the rest of an EXCHANGE of a partition or subpartition, and do it."""
    parser.expect_word("WITH")
    parser.expect_word("TABLE")
    at = parser.token.start
    other = target_table(session.environment, *parser.qualified(), at)
    if parser.any_word("INCLUDING", "EXCLUDING"):
        parser.expect_word("INDEXES")
    validates = True
    if (how := parser.any_word("WITH", "WITHOUT")) is not None:
        validates = how == "WITH"
        parser.expect_word("VALIDATION")
    end_of_change(parser)
    take_alone(session, other)
    if other.partitioning is not None:
        raise OraError(14095, "ALTER TABLE EXCHANGE requires an unpartitioned, unclustered table", at)
    if len(other.columns) != len(table.columns):
        raise OraError(14096, "tables in ALTER TABLE EXCHANGE PARTITION must have the same number of columns", at)
    if [(c.type, c.declared) for c in other.columns] != [(c.type, c.declared) for c in table.columns]:
        raise OraError(14097, "column type or size mismatch in ALTER TABLE EXCHANGE PARTITION", at)
    theirs, ours = live_rows(session.storage, other), live_rows(session.storage, table, partition.number)
    if validates and any(by.holding(table.partition_key(row)) is not partition for _, row in theirs):
        raise OraError(14099, "all rows in table do not qualify for specified partition", at)
    end_rows(session.storage, table, [partition.number])
    session.storage.segments.drop(segment(other))
    for mixed in (table, other):  # rows of both are in both now
        session.storage.lobs.move(mixed.data_object_id, 0)
    other.data_object_id, partition.data_object_id = partition.data_object_id, other.data_object_id
    other.next_rid, used = partition.next_rid & ROW_MASK, other.next_rid
    partition.number_as(by.new_number())
    put_rows(session.storage, table, theirs, partition.number)
    partition.next_rid += used
    session.storage.segments.create(other)
    put_rows(session.storage, other, [(rid & ROW_MASK, row) for rid, row in ours])
    _log_change(session, other)


def _log_change(session: SqlSession, table: Table) -> None:
    """Note that the rows of a table other than that of the statement were replaced: flashback queries cannot see the time before
    (ORA-01466)."""
    scn, now = session.storage.clock.advance(), session.storage.clock.now()
    session.catalog.changed(table, scn=scn, now=now, definition=False)
    table.ddl_scn = scn
