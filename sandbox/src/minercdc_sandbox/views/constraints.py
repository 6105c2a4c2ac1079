"""Dictionary views of constraints and indexes."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.catalog import Catalog
from minercdc_sandbox.interfaces import View
from minercdc_sandbox.tables import KEYS, Constraint, ConstraintKind, Table
from minercdc_sandbox.views.family import family, forms
from minercdc_sandbox.views.shape import Row, date, yes_no
from minercdc_sandbox.views.tables import CHARACTER, data_length

_CONSTRAINTS = (
    "OWNER V128, CONSTRAINT_NAME V128, CONSTRAINT_TYPE V1, TABLE_NAME V128, SEARCH_CONDITION L, SEARCH_CONDITION_VC V4000, "
    "R_OWNER V128, R_CONSTRAINT_NAME V128, DELETE_RULE V9, STATUS V8, DEFERRABLE V14, DEFERRED V9, VALIDATED V13, "
    "GENERATED V14, BAD V3, RELY V4, LAST_CHANGE D, INDEX_OWNER V128, INDEX_NAME V128, INVALID V7, VIEW_RELATED V14, "
    "ORIGIN_CON_ID N"
)
_CONS_COLUMNS = "OWNER V128, CONSTRAINT_NAME V128, TABLE_NAME V128, COLUMN_NAME V4000, POSITION N"
_INDEXES = (
    "OWNER V128, INDEX_NAME V128, INDEX_TYPE V27=NORMAL, TABLE_OWNER V128, TABLE_NAME V128, TABLE_TYPE V11=TABLE, "
    "UNIQUENESS V9, COMPRESSION V13=DISABLED, PREFIX_LENGTH N, TABLESPACE_NAME V30, INI_TRANS N=2, MAX_TRANS N=255, "
    "PCT_FREE N=10, LOGGING V3=YES, BLEVEL N, LEAF_BLOCKS N, DISTINCT_KEYS N, CLUSTERING_FACTOR N, STATUS V8=VALID, "
    "NUM_ROWS N, SAMPLE_SIZE N, LAST_ANALYZED D, DEGREE V40=1, INSTANCES V40=1, PARTITIONED V3=NO, TEMPORARY V1=N, "
    "GENERATED V1, SECONDARY V1=N, BUFFER_POOL V7=DEFAULT, USER_STATS V3=NO, DURATION V15, FUNCIDX_STATUS V8, "
    "JOIN_INDEX V3=NO, DROPPED V3=NO, VISIBILITY V9=VISIBLE, SEGMENT_CREATED V3=YES, CONSTRAINT_INDEX V3"
)
_IND_COLUMNS = (
    "INDEX_OWNER V128, INDEX_NAME V128, TABLE_OWNER V128, TABLE_NAME V128, COLUMN_NAME V4000, COLUMN_POSITION N, "
    "COLUMN_LENGTH N, CHAR_LENGTH N, DESCEND V4=ASC"
)


def _constraints(catalog: Catalog, container: int) -> Iterator[Row]:
    for table in catalog.tables(container):
        yield from _constraints_of(catalog, table)


def _constraints_of(catalog: Catalog, table: Table) -> Iterator[Row]:
    for constraint in (*table.constraints, *table.checks):
        referred = _referred(catalog, table, constraint)
        yield {
            "R_OWNER": constraint.reference[0] if constraint.reference else None,
            "R_CONSTRAINT_NAME": referred,
            "OWNER": table.owner,
            "CONSTRAINT_NAME": constraint.name,
            "CONSTRAINT_TYPE": constraint.kind,
            "TABLE_NAME": table.name,
            "SEARCH_CONDITION": constraint.condition,
            "SEARCH_CONDITION_VC": constraint.condition,
            "DELETE_RULE": constraint.delete_rule if constraint.kind == ConstraintKind.FOREIGN else None,
            "STATUS": "ENABLED" if constraint.enabled else "DISABLED",
            "DEFERRABLE": "DEFERRABLE" if constraint.deferrable else "NOT DEFERRABLE",
            "DEFERRED": "DEFERRED" if constraint.deferred else "IMMEDIATE",
            "VALIDATED": "VALIDATED" if constraint.validated else "NOT VALIDATED",
            "RELY": "RELY" if constraint.rely else None,
            "GENERATED": "GENERATED NAME" if constraint.generated else "USER NAME",
            "LAST_CHANGE": date(constraint.changed or table.created),
            "INDEX_OWNER": table.owner if constraint.index else None,
            "INDEX_NAME": constraint.index,
            "ORIGIN_CON_ID": table.container,
        }


def _referred(catalog: Catalog, table: Table, constraint: Constraint) -> str | None:
    """Name of the key that a foreign key refers to; None for other constraints, and when the key or its table is gone."""
    if constraint.reference is None:
        return None
    owner, name, columns = constraint.reference
    parent = catalog.table(table.container, owner, name)
    keys = [] if parent is None else [c for c in parent.constraints if c.kind in KEYS and set(c.columns) == set(columns)]
    return keys[0].name if keys else None


def _cons_columns(table: Table) -> Iterator[Row]:
    for constraint in (*table.constraints, *table.checks):
        for place, column in enumerate(constraint.columns, 1):
            yield {
                "OWNER": table.owner,
                "CONSTRAINT_NAME": constraint.name,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": column,
                "POSITION": None if constraint.kind == ConstraintKind.CHECK else place,
            }


def _indexes(table: Table) -> Iterator[Row]:
    backing = {constraint.index: constraint for constraint in table.constraints if constraint.index}
    for index in table.indexes:
        constraint = backing.get(index.name)
        yield {
            "OWNER": index.owner,
            "INDEX_NAME": index.name,
            "TABLE_OWNER": table.owner,
            "TABLE_NAME": table.name,
            "UNIQUENESS": "UNIQUE" if index.unique else "NONUNIQUE",
            "TABLESPACE_NAME": table.tablespace,
            "GENERATED": "Y" if constraint is not None and constraint.generated else "N",
            "CONSTRAINT_INDEX": yes_no(constraint is not None),
        }


def _ind_columns(table: Table) -> Iterator[Row]:
    columns = {column.name: column for column in table.columns}
    for index in table.indexes:
        for place, name in enumerate(index.columns, 1):
            column = columns[name]
            yield {
                "INDEX_OWNER": index.owner,
                "INDEX_NAME": index.name,
                "TABLE_OWNER": table.owner,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": name,
                "COLUMN_POSITION": place,
                "COLUMN_LENGTH": data_length(column),
                "CHAR_LENGTH": (column.char_length or column.size) if column.type in CHARACTER else 0,
            }


VIEWS: tuple[View, ...] = (
    *forms("CONSTRAINTS", _CONSTRAINTS, _constraints, owned=True),
    *family("CONS_COLUMNS", _CONS_COLUMNS, _cons_columns, owned=True),
    *family("INDEXES", _INDEXES, _indexes),
    *family("IND_COLUMNS", _IND_COLUMNS, _ind_columns, owner="INDEX_OWNER"),
)
