"""DBMS_METADATA as tools and connectors use it: GET_DDL of tables, with the session's transform parameters.

The text is laid out as Oracle's: a line break and two blanks first, one column a line, names always quoted (Database PL/SQL
Packages and Types Reference, DBMS_METADATA).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from minercdc.sandbox.arguments import Arguments
from minercdc.sandbox.asking import asking
from minercdc.sandbox.catalog import ALL_LOGGING, USER_GROUP, Catalog, Column, Constraint, SupplementalLogGroup, Table
from minercdc.sandbox.interfaces import Argument, OraError, OraType, Procedure, Session

CONSTANTS = {"DBMS_METADATA.SESSION_TRANSFORM": -1}
_IGNORED = frozenset({"STORAGE", "TABLESPACE", "PRETTY", "SIZE_BYTE_KEYWORD", "EMIT_SCHEMA", "PARTITIONING"})


@dataclass(frozen=True, slots=True)
class Transform:
    """What SET_TRANSFORM_PARAM has set for the session."""

    terminator: bool = False
    attributes: bool = True
    constraints: bool = True


def transform_of(session: Session) -> Transform:
    """The session's transform."""
    found: Transform = asking(session).state.setdefault("DBMS_METADATA", Transform())
    return found


def _set_transform_param(session: Session, given: Sequence[Argument], named: Mapping[str, Argument]) -> None:
    """SET_TRANSFORM_PARAM(handle, name, value). Raises ORA-31604 for parameters that are not there."""
    names = ("TRANSFORM_HANDLE", "NAME", "VALUE", "OBJECT_TYPE")
    arguments = Arguments("SET_TRANSFORM_PARAM", names, given, named)
    if arguments.integer("TRANSFORM_HANDLE") != CONSTANTS["DBMS_METADATA.SESSION_TRANSFORM"]:
        raise OraError(31600, "invalid input value for parameter TRANSFORM_HANDLE in function SET_TRANSFORM_PARAM")
    name = arguments.text("NAME").upper()
    on = arguments.integer("VALUE") != 0 if arguments.has("VALUE") else True
    old = transform_of(session)
    state = asking(session).state
    if name == "DEFAULT":
        state["DBMS_METADATA"] = Transform()
    elif name == "SQLTERMINATOR":
        state["DBMS_METADATA"] = Transform(on, old.attributes, old.constraints)
    elif name == "SEGMENT_ATTRIBUTES":
        state["DBMS_METADATA"] = Transform(old.terminator, on, old.constraints)
    elif name in ("CONSTRAINTS", "REF_CONSTRAINTS"):
        state["DBMS_METADATA"] = Transform(old.terminator, old.attributes, on)
    elif name not in _IGNORED:
        raise OraError(31604, f'invalid NAME parameter "{name}" for object type TABLE in function SET_TRANSFORM_PARAM')


PROCEDURES: dict[str, Procedure] = {"DBMS_METADATA.SET_TRANSFORM_PARAM": _set_transform_param}
"""The package's procedures by qualified name; GET_DDL is a function."""


def get_ddl(catalog: Catalog, container: int, kind: str, name: str, schema: str, transform: Transform) -> str:
    """GET_DDL(object_type, name, schema). Raises ORA-31603 for what is not there."""
    if kind.upper() != "TABLE":
        raise OraError(3001, f"unimplemented feature: DBMS_METADATA.GET_DDL of {kind.upper()}")
    table = catalog.table(container, schema, name)
    if table is None:
        raise OraError(31603, f'object "{name}" of type TABLE not found in schema "{schema}"')
    return table_ddl(table, transform)


def table_ddl(table: Table, transform: Transform) -> str:
    """CREATE TABLE of a table."""
    lines = [_column(table, column) for column in table.all_columns()]
    if transform.constraints:
        lines += [_constraint(constraint) for constraint in table.constraints if constraint.kind in "PU"]
        lines += [f"\t {_named(check)}CHECK ({check.condition}) ENABLE" for check in table.checks]
        lines += [_log_group(group) for group in table.log_groups]
    body = ", \n\t".join(line.lstrip("\t") for line in lines)
    attributes = f'\n  TABLESPACE "{table.tablespace}" ' if transform.attributes else ""
    text = f'\n  CREATE TABLE "{table.owner}"."{table.name}" \n   (\t{body}\n   ) {attributes}'
    return text + ";" if transform.terminator else text


def _column(table: Table, column: Column) -> str:
    text = f'\t"{column.name}" {_type(column)}'
    if column.virtual is not None:
        text += f" GENERATED ALWAYS AS ({column.virtual}) VIRTUAL "
    elif column.default is not None and not column.identity:
        text += f" DEFAULT {column.default.strip()}"
    key = table.key
    in_key = key is not None and column.name in key.columns
    return text + (" NOT NULL ENABLE" if not column.nullable and not in_key else "")


def _type(column: Column) -> str:
    if column.type is OraType.NUMBER and not column.float_:
        if column.scale == -127:
            return "NUMBER"
        return f"NUMBER({column.precision or '*'},{column.scale})"
    declared = column.declared
    for word in ("TIMESTAMP", "YEAR", "DAY", "SECOND"):
        declared = declared.replace(f"{word}(", f"{word} (")
    return declared


def _constraint(constraint: Constraint) -> str:
    columns = ", ".join(f'"{name}"' for name in constraint.columns)
    kind = "PRIMARY KEY" if constraint.kind == "P" else "UNIQUE"
    return f"\t {_named(constraint)}{kind} ({columns})\n  USING INDEX  ENABLE"


def _named(constraint: Constraint) -> str:
    return "" if constraint.generated else f'CONSTRAINT "{constraint.name}" '


def _log_group(group: SupplementalLogGroup) -> str:
    kind, columns, name, always = group.kind, group.columns, group.name, group.always
    if kind == USER_GROUP:
        listed = ", ".join(f'"{column}"' for column in columns)
        return f'\t SUPPLEMENTAL LOG GROUP "{name}" ({listed})' + (" ALWAYS" if always else "")
    words = "ALL" if kind == ALL_LOGGING else kind.removesuffix(" KEY LOGGING") + (" KEY" if "PRIMARY" in kind else "")
    return f"\t SUPPLEMENTAL LOG DATA ({words}) COLUMNS"
