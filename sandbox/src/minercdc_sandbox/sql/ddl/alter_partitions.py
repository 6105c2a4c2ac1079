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
from minercdc_sandbox.partitioning import ROW_MASK, Bound, Partitioning, TablePartition, is_below
from minercdc_sandbox.sql.ddl.exclusive import take_alone
from minercdc_sandbox.sql.ddl.partitions import (
    bound_cells,
    described_partition,
    described_parts,
    interval_step,
    set_template,
)
from minercdc_sandbox.sql.dml.partitions import Part, new_partition, new_subpartition
from minercdc_sandbox.sql.dml.target import target_table
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.definitions import physical_options
from minercdc_sandbox.sql.parse.partitions import (
    PartitionSpec,
    bounds,
    interval_of,
    partition_spec,
    subpartition_spec,
    template_of,
)
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.storage.relocation import end_rows, live_rows, put_rows, rewrite
from minercdc_sandbox.storage.store import segment
from minercdc_sandbox.tables import Table


def is_of_partitions(parser: Parser) -> bool:
    """Whether the next words of an ALTER TABLE, after the table's name, change partitions; reads none of them."""
    if parser.is_word("SET", "INTERVAL"):
        return True
    if parser.is_word("SET", "SUBPARTITION"):
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
    implemented, of the changes ORA-02149, ORA-02266, those between ORA-14004 and ORA-14760, ORA-00905 and others of `Parser` for wrong syntax, as `bound_cells`, `interval_of` and
    `interval_step`, and of EXCHANGE as `target_table` and `take_alone`."""
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
        change = _SUBPARTITION_CHANGES.get(word)
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


def _end(parser: Parser) -> None:
    """Read clauses that may follow, without effect here, and the end of the statement: indexes stay usable anyway. Raises
    ORA-00933 for anything else, and as `physical_options`."""
    physical_options(parser)
    if parser.any_word("UPDATE", "INVALIDATE"):
        parser.word("GLOBAL")
        parser.expect_word("INDEXES")
    parser.end()


def _add(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    if by.interval is not None:
        raise OraError(14760, "ADD PARTITION is not permitted on Interval partitioned objects", at)
    specs = parser.listed(lambda: partition_spec(parser, by.method, by.divided.method if by.divided is not None else None))
    _end(parser)
    for spec in specs:
        made = described_partition(session, table, spec)
        if by.method == "RANGE" and not is_below(by.partitions[-1].keys[0], made.keys[0]):
            raise OraError(14074, "partition bound must collate higher than that of the last partition", spec.at)
        if by.method == "LIST":
            _check_values(by, made, spec.at)
        by.partitions.append(made)
    if by.method == "HASH":
        rewrite(session.storage, table, [one.number for one in by.segments()])


def _check_values(by: Partitioning, made: TablePartition, at: int) -> None:
    if any(not other.keys for other in by.partitions):
        raise OraError(14323, "cannot add partition when DEFAULT partition exists", at)
    for other in by.partitions:
        if set(other.keys) & set(made.keys):
            raise OraError(14312, f"Value already exists in partition {other.name}", at)


def _check_added(partition: TablePartition, made: TablePartition, at: int) -> None:
    """As `_check_values`, of a subpartition that is added to a partition."""
    if any(not other.keys for other in partition.segments()):
        raise OraError(14621, "cannot add subpartition when DEFAULT subpartition exists", at)
    for other in partition.segments():
        if set(other.keys) & set(made.keys):
            raise OraError(14622, f"Value already exists in subpartition {other.name} of partition {partition.name}", at)


def _drop(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    if by.method == "HASH":
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method", at)
    gone = _names(session, parser, table, by)
    _end(parser)
    left = [partition for partition in by.partitions if all(partition is not other for other in gone)]
    if not left:
        raise OraError(14083, "cannot drop the only partition of a partitioned table", at)
    if by.interval is not None and by.method == "RANGE" and all(partition.automatic for partition in left):
        raise OraError(14758, "Last partition in the range section cannot be dropped", at)
    _check_children(session, table)
    by.partitions = left
    _end_segments(session, table, gone)
    for partition in gone:
        session.catalog.forget_partition(partition)


def _end_segments(session: SqlSession, table: Table, parts: list[TablePartition]) -> None:
    end_rows(session.storage, table, [one.number for partition in parts for one in partition.segments()])


def _check_children(session: SqlSession, table: Table) -> None:
    if any(child is not table for child, _ in session.catalog.children_of(table)):
        raise OraError(2266, "unique/primary keys in table referenced by enabled foreign keys")


def _truncate(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    _empty(session, parser, table, by, _names(session, parser, table, by))


def _empty(session: SqlSession, parser: Parser, table: Table, by: Partitioning, emptied: list[TablePartition]) -> None:
    """Read the rest of a TRUNCATE of partitions or subpartitions, and do it."""
    if parser.any_word("DROP", "REUSE"):
        parser.word("ALL")
        parser.expect_word("STORAGE")
    parser.word("CASCADE")
    _end(parser)
    _check_children(session, table)
    _end_segments(session, table, emptied)
    for partition in emptied:
        for one in partition.segments():
            _renew(session, by, one)


def _renew(session: SqlSession, by: Partitioning, partition: TablePartition) -> None:
    """Give a partition storage of its own, empty, with a new data object id and number; what its rows become is the caller's.
    Raises ORA-14299."""
    partition.data_object_id = session.catalog.new_object_id()
    partition.number_as(by.new_number())


def _move(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    moved = _names(session, parser, table, by)
    if by.divided is not None:
        raise OraError(14257, "cannot move partition other than a Range, List, System, or Hash partition", at)
    _relocate(session, parser, table, by, moved)


def _relocate(session: SqlSession, parser: Parser, table: Table, by: Partitioning, moved: list[TablePartition]) -> None:
    """Read the rest of a MOVE of partitions or subpartitions, and do it."""
    parser.word("ONLINE")
    _end(parser)
    for partition in moved:
        before = partition.number
        _renew(session, by, partition)
        rewrite(session.storage, table, [before])


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

    _split_one(session, parser, table, by, old, at, "PARTITION", made)


def _split_one(
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
    _end(parser)
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


def _merge(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    merged = _names(session, parser, table, by)

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_partition(session, table, name, text, keys)

    _merge_some(session, parser, table, by, merged, at, "PARTITION", made)


def _merge_some(
    session: SqlSession,
    parser: Parser,
    table: Table,
    by: Partitioning,
    merged: list[TablePartition],
    at: int,
    word: str,
    made: Callable[[str | None, str | None, list[Bound]], TablePartition],
) -> None:
    """Read the rest of a MERGE, and do it; parameters as of `_split_one`."""
    name = None
    if parser.word("INTO", word):
        name = parser.name()
    _end(parser)
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


def _modify(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [partition] = _names(session, parser, table, by)
    if (
        partition.subpartitions is not None
        and parser.is_any_word("ADD", "COALESCE")
        and parser.peek().text == "SUBPARTITION"
    ):
        if parser.take().text == "ADD":
            _add_subpartitions(session, parser, table, partition, partition.subpartitions)
        else:
            _coalesce_subpartition(session, parser, table, partition.subpartitions, at)
        return
    _modify_values(session, parser, table, by, partition, at)


def _modify_values(
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
    _end(parser)
    keys = [bound_cells(session, table, by.columns, bound, at) for bound in spec.bounds]
    if word == "ADD":
        added = TablePartition("", 0, 0, None, 0.0, keys)
        _check_values(by, added, at)
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


def _coalesce(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    parser.word("PARTITION")
    _end(parser)
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
    _exchange_with(session, parser, table, by, partition)


def _exchange_with(session: SqlSession, parser: Parser, table: Table, by: Partitioning, partition: TablePartition) -> None:
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
    _end(parser)
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


def move_table(session: SqlSession, parser: Parser, table: Table) -> None:
    """Read and apply ALTER TABLE MOVE: a new data object id and new ROWIDs, without redo of the rows; the caller holds the table
    alone. Raises ORA-14511 for a partitioned table. Syntax errors are those of `Parser`."""
    at = parser.token.start
    parser.expect_word("MOVE")
    _end(parser)
    if table.partitioning is not None:
        raise OraError(14511, "cannot perform operation on a partitioned object", at)
    storage = session.storage
    rows = live_rows(storage, table)
    storage.segments.drop(segment(table))
    old, table.data_object_id, table.next_rid = table.data_object_id, session.catalog.new_object_id(), len(rows)
    storage.lobs.move(old, table.data_object_id)
    storage.segments.create(table)
    put_rows(storage, table, [(rid, row) for rid, (_, row) in enumerate(rows)])


def _add_subpartitions(
    session: SqlSession, parser: Parser, table: Table, partition: TablePartition, level: Partitioning
) -> None:
    """Read the rest of MODIFY PARTITION .. ADD, and do it: `SUBPARTITION [name] [VALUES ..], ..`."""
    specs = parser.listed(lambda: subpartition_spec(parser, level.method))
    _end(parser)
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


def _coalesce_subpartition(session: SqlSession, parser: Parser, table: Table, level: Partitioning, at: int) -> None:
    parser.expect_word("SUBPARTITION")
    _end(parser)
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
    _end(parser)
    gone = [one for _, _, one in found]
    if any(all(any(one is other for other in gone) for one in level.partitions) for _, level, _ in found):
        raise OraError(14629, "cannot drop the only subpartition of a partition", at)
    _check_children(session, table)
    for _, level, one in found:
        level.partitions = [other for other in level.partitions if other is not one]
    _end_segments(session, table, gone)
    for one in gone:
        session.catalog.forget_partition(one)


def _truncate_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    _empty(session, parser, table, by, [one for _, _, one in _subpartitions(session, parser, table, by)])


def _move_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    _relocate(session, parser, table, by, [one for _, _, one in _subpartitions(session, parser, table, by)])


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

    _split_one(session, parser, table, level, old, at, "SUBPARTITION", made)


def _merge_subpartitions(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    found = _subpartitions(session, parser, table, by)
    partition, level, _ = found[0]
    if any(other is not level for _, other, _ in found):
        raise OraError(14274, "partitions being merged are not adjacent", at)

    def made(name: str | None, text: str | None, keys: list[Bound]) -> TablePartition:
        return new_subpartition(session, table, partition, name, text, keys)

    _merge_some(session, parser, table, level, [one for _, _, one in found], at, "SUBPARTITION", made)


def _modify_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    at = parser.token.start
    [(_, level, one)] = _subpartitions(session, parser, table, by)
    _modify_values(session, parser, table, level, one, at)


def _exchange_subpartition(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    [(_, _, one)] = _subpartitions(session, parser, table, by)
    _exchange_with(session, parser, table, by, one)


def _set_template(session: SqlSession, parser: Parser, table: Table, by: Partitioning) -> None:
    assert by.divided is not None
    parser.expect_word("SUBPARTITION")
    parser.expect_word("TEMPLATE")
    specs = template_of(parser, by.divided.method)
    parser.end()
    set_template(session, table, specs)


_SUBPARTITION_CHANGES: dict[str, Callable[[SqlSession, Parser, Table, Partitioning], None]] = {
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
