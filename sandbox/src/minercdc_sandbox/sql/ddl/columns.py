"""Columns added to, changed in and dropped from a table that has rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from minercdc_sandbox import tables as dictionary
from minercdc_sandbox.interfaces import Cell, OraError, OraType
from minercdc_sandbox.sql.ddl.constraints import add_constraint, row_count, validate
from minercdc_sandbox.sql.ddl.generated import modify_identity
from minercdc_sandbox.sql.declare import check_declared, declare
from minercdc_sandbox.sql.dml.checks import rename_in_check
from minercdc_sandbox.sql.dml.target import conversion
from minercdc_sandbox.sql.execution import SqlSession
from minercdc_sandbox.sql.parse.constraints import ConstraintSpec
from minercdc_sandbox.sql.parse.definitions import Definition, column_options
from minercdc_sandbox.sql.parse.statements import Parser
from minercdc_sandbox.sql.runtime import begin_run, evaluate
from minercdc_sandbox.sql.store import storer
from minercdc_sandbox.sql.tokens import TokenKind, tokenize
from minercdc_sandbox.sql.translate.expressions import Expressions
from minercdc_sandbox.tables import Column, Constraint, ConstraintKind, LengthSemantics, Table

_FRACTIONS = (*(OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ), *(OraType.INTERVAL_DS, OraType.INTERVAL_YM))

_WIDENED = {(OraType.DATE, OraType.TIMESTAMP)}
"""Changes of type that a column with values takes (SQL Language Reference, ALTER TABLE): the bytes of a DATE are those of a
TIMESTAMP without fraction."""
_PROPERTIES = frozenset(
    """NOT NULL DEFAULT CONSTRAINT PRIMARY UNIQUE CHECK REFERENCES VISIBLE INVISIBLE GENERATED ENCRYPT COLLATE DOMAIN
    ANNOTATIONS RESERVABLE ) ,""".split()  # noqa: SIM905
)
"""Words that may follow the name of a column in MODIFY without a type."""
_LARGE = {OraType.CLOB, OraType.BLOB, OraType.XMLTYPE}


def add_column(session: SqlSession, table: Table, column: Column) -> None:
    """Add a stored column at the end of the table, and set its slot; rows get its default, computed once, without redo. Raises
    ORA-01430, ORA-01758 for NOT NULL without a default when the table has rows, and as `Parser.expr`, `Expressions.value`,
    `evaluate` and `storer` of its default."""
    if any(other.name == column.name for other in table.all_columns()):
        raise OraError(1430, "column being added already exists in table")
    default = None
    if column.default is not None:
        x = Expressions(session.environment)
        typed = x.value(Parser(column.default).expr(), None)
        cell = evaluate(typed.sql, x.parameters, begin_run(session))
        default = storer(
            typed.type, column, f'"{table.owner}"."{table.name}"."{column.name}"', conversion(session.environment, table)
        )(cell)
    if not column.nullable and default is None and column.identity is None and row_count(session, table):
        raise OraError(1758, "table must be empty to add mandatory (NOT NULL) column")
    if default is not None and column.nullable and _takes_optimized_default(table, column):
        _count_default(session, table)
    _append(session, table, column, default)


def _append(session: SqlSession, table: Table, column: Column, default: Cell) -> None:
    column.slot, table.next_slot = table.next_slot, table.next_slot + 1
    session.storage.segments.add_column(table, column.slot, default)
    table.columns.append(column)


def _takes_optimized_default(table: Table, column: Column) -> bool:
    """Whether the default of a column that is added is kept as metadata only: the table has no LOB and is neither index-organized nor
    temporary (SQL Language Reference, ALTER TABLE, DEFAULT)."""
    return not (
        column.system
        or table.index_organized
        or table.temporary is not None
        or any(one.type in _LARGE or one.type in (OraType.JSON, OraType.VECTOR) for one in (*table.columns, column))
    )


def _count_default(session: SqlSession, table: Table) -> None:
    """Note a column with such a default, which may be NULL: the first one of a table brings a hidden column before it, SYS_NCn$
    RAW(126), with a bit for each of them that says which rows have its own value (shown on 12c, stackoverflow 45756882: `01` in
    new rows). The bit of a row of before that is updated is left out."""
    hidden = next((one for one in table.columns if one.name.startswith("SYS_NC")), None)
    if hidden is None:
        hidden = Column(f"SYS_NC{len(table.all_columns()) + 1:05d}$", OraType.RAW, size=126)
        hidden.invisible = hidden.system = True
        _append(session, table, hidden, None)
    bits = int((hidden.default or "HEXTORAW('0')").split("'")[1], 16)
    digits = f"{(bits << 1) | 1:X}"
    hidden.default = f"HEXTORAW('{digits.zfill(len(digits) + len(digits) % 2)}')"


def drop_column(session: SqlSession, table: Table, name: str, *, cascade: bool = False, unused: bool = False) -> None:
    """Drop a column, a stored one with its checks, keys and indexes; its values stay in the segment. Raises ORA-00904, ORA-12983,
    ORA-12984, ORA-12991, ORA-12992, ORA-54031, ORA-30673.

    :param unused: SET UNUSED: a stored column keeps its place in the stored rows, under a name that Oracle makes.

    :param cascade: CASCADE CONSTRAINTS: constraints on several columns and foreign keys that refer to the column go, too.
    """
    if any(column.name == name for _, column in table.virtual):
        table.virtual = [(place, column) for place, column in table.virtual if column.name != name]
        return
    position = table.position(name)
    if sum(not column.unused for column in table.columns) == 1:
        raise OraError(12983, "cannot drop all columns in a table")
    if table.partitioning is not None and name in table.partitioning.key_columns:
        raise OraError(12984, "cannot drop partitioning column")
    if _used_in_virtual(table, name):
        raise OraError(54031, "column to be dropped is used in a virtual column expression")
    if not cascade and any(name in c.columns and len(c.columns) > 1 for c in (*table.constraints, *table.checks)):
        raise OraError(12991, "column is referenced in a multi-column constraint")
    _drop_references(session, table, name, cascade=cascade)
    table.checks = [check for check in table.checks if name not in check.columns]
    table.constraints = [constraint for constraint in table.constraints if name not in constraint.columns]
    for index in [i for i in table.indexes if name in i.columns]:
        session.storage.segments.drop_index(table, index)
        table.indexes.remove(index)
    for group in list(table.log_groups):
        group.columns = tuple(c for c in group.columns if c != name)
        group.unlogged -= {name}
        if group.kind == dictionary.USER_GROUP and not group.columns:
            table.log_groups.remove(group)
    if table.columns[position].identity is not None:
        _drop_identity(session, table, table.columns[position])
    if not unused:
        del table.columns[position]
        drop_unused(table)
        return
    column = table.columns[position]
    now = datetime.fromtimestamp(session.storage.clock.now(), UTC)
    column.name = f"SYS_C{position + 1:05d}_{now:%y%m%d%H:%M:%S}$"
    column.unused = column.invisible = column.system = column.nullable = True
    column.default = column.comment = None
    column.on_null = False


def drop_unused(table: Table) -> None:
    """Drop what SET UNUSED left in the stored rows, as DROP of any column does (SQL Language Reference, ALTER TABLE)."""
    table.columns = [column for column in table.columns if not column.unused]


def _drop_references(session: SqlSession, table: Table, name: str, *, cascade: bool) -> None:
    """Drop the foreign keys of all tables that refer to a column, disabled ones too. Raises ORA-12992 when there are any and not
    `cascade`."""
    for child, constraint in _referring(session, table, name):
        if not cascade:
            raise OraError(12992, "cannot drop parent key column")
        child.constraints.remove(constraint)


def _referring(session: SqlSession, table: Table, name: str) -> list[tuple[Table, Constraint]]:
    return [
        (child, constraint)
        for child in session.catalog.tables(table.container)
        for constraint in child.constraints
        if constraint.reference is not None
        and constraint.reference[:2] == (table.owner, table.name)
        and name in constraint.reference[2]
    ]


def _used_in_virtual(table: Table, name: str) -> bool:
    return any(t.is_name and t.text == name for _, c in table.virtual for t in tokenize(c.virtual or ""))


def rename_column(session: SqlSession, table: Table, old: str, new: str) -> None:
    """Rename a stored column wherever the dictionary of tables has its name: constraints, indexes, log groups, partitioning.
    Raises ORA-00904, ORA-00957, ORA-54032."""
    position = table.position(old)
    if any(column.name == new for column in table.all_columns()):
        raise OraError(957, "duplicate column name")
    if _used_in_virtual(table, old):
        raise OraError(54032, "column to be renamed is used in a virtual column expression")

    def renamed(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if column == old else column for column in columns)

    for child, constraint in _referring(session, table, old):
        assert constraint.reference is not None
        moved = replace(constraint, reference=(*constraint.reference[:2], renamed(constraint.reference[2])))
        child.constraints = [moved if one is constraint else one for one in child.constraints]
    for check in (*table.checks, *table.constraints):
        rename_in_check(check, old, new)
    for constraint in table.constraints:
        constraint.columns = renamed(constraint.columns)
    for index in table.indexes:
        index.columns = renamed(index.columns)
    for group in table.log_groups:
        group.columns = renamed(group.columns)
        group.unlogged = frozenset(renamed(tuple(group.unlogged)))
    if table.partitioning is not None:
        by = table.partitioning
        by.columns = renamed(by.columns)
        if by.divided is not None:
            by.divided = replace(by.divided, columns=renamed(by.divided.columns))
        for partition in by.partitions:
            if partition.subpartitions is not None:
                partition.subpartitions.columns = renamed(partition.subpartitions.columns)
    table.columns[position] = replace(table.columns[position], name=new)


def _drop_identity(session: SqlSession, table: Table, column: Column) -> None:
    """Drop a column's identity with its sequence, and its NOT NULL constraint (error help, ORA-30672: that is the only way to drop it); the
    values stay. Raises ORA-30673 when it has none."""
    if column.identity is None:
        raise OraError(30673, "column to be modified is not an identity column")
    session.catalog.containers[table.container].sequences.pop((table.owner, f"ISEQ$$_{table.object_id}"), None)
    column.identity = column.default = None
    column.on_null = False
    for constraint in [c for c in table.constraints if c.kind == ConstraintKind.CHECK and c.columns == (column.name,)]:
        table.constraints.remove(constraint)
    column.nullable = table.key is None or not table.key.enabled or column.name not in table.key.columns


def _modify_identity(session: SqlSession, parser: Parser, table: Table, column: Column) -> None:
    """Read and apply `GENERATED .. AS IDENTITY [(options)]` of a column that is one. Raises ORA-30673, ORA-03001 for GENERATED ..
    AS (expr), and as `column_options` and `modify_identity`."""
    if column.identity is None:
        raise OraError(30673, "column to be modified is not an identity column")
    at = parser.token.start
    definition, like = Definition(), replace(column, identity=None, default=None, on_null=False)
    column_options(parser, like, definition)
    if like.identity is None:
        raise OraError(3001, f"unimplemented feature: MODIFY {column.name} GENERATED .. AS (..)", at)
    column.identity, column.on_null = like.identity, like.on_null
    modify_identity(session, table, column, definition.identities[column.name])


def modify_column(session: SqlSession, parser: Parser, table: Table) -> None:
    """Read and apply one column of ALTER TABLE MODIFY. Raises ORA-01439 to ORA-01441 and ORA-30082 for changes of type that the
    column's values do not allow, ORA-14060 for another type or length of a partitioning column, ORA-22859 from or to a LOB or
    XMLTYPE, ORA-00904, ORA-01442, ORA-01451, ORA-02296, ORA-30673, ORA-54039, ORA-03001 for GENERATED but of an identity
    and for another length of CHAR, as `declare`, `check_declared`, `column_options`, `add_constraint` and `validate`. Syntax errors are those of `Parser`. After an error the caller sets the definition back."""
    position = table.position(parser.name(904, "invalid identifier"))
    column = table.columns[position]
    if parser.word("DROP", "IDENTITY"):
        _drop_identity(session, table, column)
        return
    if parser.token.kind is not TokenKind.END and parser.token.text not in _PROPERTIES:
        _change_type(session, parser, table, column)
    if parser.is_word("GENERATED"):
        _modify_identity(session, parser, table, column)
        return
    was, was_invisible = column.nullable, column.invisible
    said_null = parser.is_word("NULL")
    extra = Definition()
    column_options(parser, column, extra)
    if was_invisible and not column.invisible:
        # It gets the last COLUMN_ID, and stays where it is in the segment and in redo.
        column.shown_after = table.last_shown() + 1
    if all(one.invisible for one in table.all_columns()):
        raise OraError(54039, "table must have at least one column that is not invisible")
    for spec in extra.constraints:
        if spec.kind == ConstraintKind.CHECK and spec.condition is None:
            if not was:
                raise OraError(1442, "column to be modified to NOT NULL is already NOT NULL")
            if spec.validated and row_count(session, table, f"c{column.slot} is null"):
                column.nullable = True
                raise OraError(2296, f"cannot enable ({table.owner}.) - null values found")
        _constrain(session, table, spec)
    if was and column.nullable and said_null:
        raise OraError(1451, "column to be modified to NULL cannot be modified to NULL")
    if not was and column.nullable:
        table.constraints = [
            c for c in table.constraints if not (c.kind == ConstraintKind.CHECK and c.columns == (column.name,))
        ]


def _change_type(session: SqlSession, parser: Parser, table: Table, column: Column) -> None:
    wanted = declare(column.name, parser.type_name())
    env = session.environment
    check_declared([wanted], env.release, extended=env.extended_strings)
    if (
        table.partitioning is not None
        and column.name in table.partitioning.key_columns
        and _type_of(column) != _type_of(wanted)
    ):
        raise OraError(14060, "data type or length of a table partitioning column may not be changed")
    _check_modify(session, table, column, wanted)
    column.type, column.precision, column.scale = wanted.type, wanted.precision, wanted.scale
    column.size, column.char_length, column.semantics, column.float_ = (
        *(wanted.size, wanted.char_length, wanted.semantics),
        wanted.float_,
    )


def _type_of(column: Column) -> tuple[object, ...]:
    size = (column.size, column.char_length, column.semantics)
    return column.type, column.precision, column.scale, column.float_, *size


def _constrain(session: SqlSession, table: Table, spec: ConstraintSpec) -> None:
    index = add_constraint(session, table, spec)
    if spec.condition is not None or spec.kind != ConstraintKind.CHECK:
        validate(session, table, table.checks[-1] if spec.condition is not None else table.constraints[-1])
    if index is not None:
        session.storage.segments.create_index(table, index)


def _check_modify(session: SqlSession, table: Table, old: Column, new: Column) -> None:
    if old.type is not new.type and {old.type, new.type} & _LARGE:
        raise OraError(22859, "invalid modification of columns")
    slot = f"c{old.slot}"
    if not row_count(session, table, f"{slot} is not null") or (old.type, new.type) in _WIDENED:
        return
    if old.type is not new.type or old.national is not new.national:
        raise OraError(1439, "column to be modified must be empty to change datatype")
    if new.type is OraType.NUMBER:
        whole_old = 40 if old.scale == -127 else (old.precision or 38) - old.scale
        whole_new = 40 if new.scale == -127 else (new.precision or 38) - new.scale
        places_old, places_new = (200 if c.scale == -127 else c.scale for c in (old, new))
        if whole_new < whole_old or places_new < places_old:
            raise OraError(1440, "column to be modified must be empty to decrease precision or scale")
    elif new.type is OraType.CHAR and new.char_length != old.char_length:
        raise OraError(3001, "unimplemented feature: changing the length of a CHAR column that has values")
    elif new.type in _FRACTIONS and (new.scale < old.scale or new.precision < old.precision):
        raise OraError(
            30082, "datetime/interval column to be modified must be empty to decrease fractional second precision"
        )
    elif new.type in (OraType.VARCHAR2, OraType.RAW):
        length = "length" if new.semantics == LengthSemantics.CHAR or new.type is OraType.RAW else "octet_length"
        limit = new.size if new.type is OraType.RAW else new.char_length
        if new.national:
            length = "o_utf16_units"
        if row_count(session, table, f"{length}({slot})>{limit}"):
            raise OraError(1441, "cannot decrease column length because some value is too big")
