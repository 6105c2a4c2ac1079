"""DBMS_METADATA.GET_DDL of tables, in the form clients parse: a newline, two blanks, then CREATE TABLE with all in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import OraError, OraType
from minercdc_sandbox.partitioning import Partitioning, TablePartition
from minercdc_sandbox.tables import KEYS, Column, Constraint, ConstraintKind, SupplementalLogGroup, Table


def table_ddl(catalog: Catalog | None, container: int, kind: str, name: str, schema: str, how: Mapping[str, bool]) -> str:
    """The DDL of a table and of its indexes that are no keys', each beginning with a newline and two blanks. Raises ORA-31603 for
    an unknown table, ORA-03001 for kinds other than TABLE.

    :param catalog: None for a schema that the user does not see, which raises ORA-31603.
    :param kind, name, schema: as the dictionary has them, upper case.
    :param how: parameters of SET_TRANSFORM_PARAM; missing ones have their defaults.
    """
    if kind != "TABLE":
        raise OraError(3001, f"unimplemented feature: DBMS_METADATA.GET_DDL of {kind}")
    table = catalog.table(container, schema, name) if catalog is not None else None
    if table is None:
        raise OraError(31603, f'object "{name}" of type {kind} not found in schema "{schema}"')
    temporary = "GLOBAL TEMPORARY " if table.temporary else ""
    elements = [_column(table, column) for column in table.all_columns() if not column.system]
    if how.get("CONSTRAINTS", True):
        elements += _constraints(table, references=how.get("REF_CONSTRAINTS", True))
    elements += [_log_group(group) for group in table.log_groups]
    body = ", \n\t".join(elements)
    text = f'\n  CREATE {temporary}TABLE "{table.owner}"."{table.name}" \n   (\t{body}\n   ) '
    if table.temporary:
        text += f"ON COMMIT {'DELETE' if table.temporary == 'TRANSACTION' else 'PRESERVE'} ROWS "
    if table.archival is not None:
        text += "ROW ARCHIVAL "
    if table.partitioning is not None:
        text += _partitioned(table)
    statements = [text, *_indexes(table)]
    return "".join(statement + (";" if how.get("SQLTERMINATOR", False) else "") for statement in statements)


def _declared(column: Column) -> str:
    """A column's type as DBMS_METADATA spells it: `NUMBER(10,0)`, `TIMESTAMP (6)`."""
    if column.type is OraType.NUMBER and not column.float_ and column.scale != -127:
        return f"NUMBER({column.precision or '*'},{column.scale})"
    text = column.declared
    return (
        text.replace("TIMESTAMP(", "TIMESTAMP (")
        .replace("YEAR(", "YEAR (")
        .replace("DAY(", "DAY (")
        .replace("SECOND(", "SECOND (")
    )


def _column(table: Table, column: Column) -> str:
    text = f'"{column.name}" {_declared(column)}{" INVISIBLE" if column.invisible else ""}'
    if column.virtual:
        return f"{text} GENERATED ALWAYS AS ({column.virtual}) VIRTUAL "
    if column.identity:
        text += f" GENERATED {column.identity} AS IDENTITY"
    elif column.default is not None:
        text += f" DEFAULT {'ON NULL ' if column.on_null else ''}{column.default}"
    key = any(c.kind == ConstraintKind.PRIMARY and column.name in c.columns for c in table.constraints)
    return text if column.nullable or key else f"{text} NOT NULL ENABLE"


def _constraints(table: Table, *, references: bool) -> Iterator[str]:
    for constraint in (*table.constraints, *table.checks):
        named = "" if constraint.generated else f'CONSTRAINT "{constraint.name}"'
        state = "ENABLE" if constraint.enabled else "DISABLE"
        columns = ", ".join(f'"{column}"' for column in constraint.columns)
        if constraint.kind in KEYS:
            word = "PRIMARY KEY" if constraint.kind == ConstraintKind.PRIMARY else "UNIQUE"
            yield f" {named} {word} ({columns})\n  USING INDEX  {state}"
        elif constraint.kind == ConstraintKind.FOREIGN and references:
            yield f" {named} FOREIGN KEY ({columns})\n\t  REFERENCES {_referred(constraint)} {state}"
        elif constraint in table.checks:
            yield f" {named} CHECK ({constraint.condition}) {state}"


def _referred(constraint: Constraint) -> str:
    assert constraint.reference is not None
    owner, table, columns = constraint.reference
    rule = "" if constraint.delete_rule == "NO ACTION" else f" ON DELETE {constraint.delete_rule}"
    return f'"{owner}"."{table}" ({", ".join(f"{chr(34)}{c}{chr(34)}" for c in columns)}){rule}'


_DATA_GROUPS = {
    "ALL COLUMN LOGGING": "ALL",
    "PRIMARY KEY LOGGING": "PRIMARY KEY",
    "UNIQUE KEY LOGGING": "UNIQUE INDEX",
    "FOREIGN KEY LOGGING": "FOREIGN KEY",
}


def _log_group(group: SupplementalLogGroup) -> str:
    if group.kind in _DATA_GROUPS:
        return f" SUPPLEMENTAL LOG DATA ({_DATA_GROUPS[group.kind]}) COLUMNS"
    columns = ", ".join(f'"{column}"{" NO LOG" if column in group.unlogged else ""}' for column in group.columns)
    return f' SUPPLEMENTAL LOG GROUP "{group.name}" ({columns}){" ALWAYS" if group.always else ""}'


def _partitioned(table: Table) -> str:
    partitioning = table.partitioning
    assert partitioning is not None
    columns = _listed(partitioning.columns)
    parts = []
    for one in partitioning.partitions:
        text = _part("PARTITION", partitioning, one)
        if one.subpartitions is not None:
            inner = [_part("SUBPARTITION", one.subpartitions, part) for part in one.segments()]
            text += " \n ( " + ", \n  ".join(inner) + ")"
        parts.append(text)
    interval = "" if partitioning.interval is None else f" INTERVAL ({partitioning.interval.text})"
    if partitioning.method == "LIST" and interval:
        interval = " AUTOMATIC"
    if partitioning.divided is not None:
        interval += f" \n  SUBPARTITION BY {partitioning.divided.method} ({_listed(partitioning.divided.columns)})"
    movement = " ENABLE ROW MOVEMENT " if table.row_movement else ""
    return f"\n  PARTITION BY {partitioning.method} ({columns}){interval} \n (" + ", \n".join(parts) + ") " + movement


def _listed(columns: tuple[str, ...]) -> str:
    return ",".join(f'"{column}"' for column in columns)


def _part(word: str, of: Partitioning, one: TablePartition) -> str:
    bounds = {"RANGE": "VALUES LESS THAN", "LIST": "VALUES"}
    bound = f"  {bounds[of.method]} ({one.bound})" if of.method in bounds else ""
    return f' {word} "{one.name}"{bound}'


def _indexes(table: Table) -> Iterator[str]:
    keys = {constraint.index for constraint in table.constraints}
    for index in table.indexes:
        if index.name not in keys:
            columns = ", ".join(f'"{column}"' for column in index.columns)
            unique = "UNIQUE " if index.unique else ""
            yield f'\n  CREATE {unique}INDEX "{index.owner}"."{index.name}" ON "{table.owner}"."{table.name}" ({columns}) '
