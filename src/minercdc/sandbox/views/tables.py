"""ALL_/USER_/DBA_ views of tables, columns, constraints, indexes, objects, log groups and the recycle bin.

All three forms show what the session's container holds; USER_ only the current user's and without the OWNER column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from minercdc.sandbox.asking import asking
from minercdc.sandbox.catalog import Column, Table
from minercdc.sandbox.interfaces import OraType, Session, View
from minercdc.sandbox.views.shape import Row, date, view, yes_no

TableRows = Callable[[Table], Iterable[Row]]

_STORAGE = (
    "PCT_FREE N, PCT_USED N, INI_TRANS N, MAX_TRANS N, INITIAL_EXTENT N, NEXT_EXTENT N, MIN_EXTENTS N, MAX_EXTENTS N, "
    "PCT_INCREASE N, FREELISTS N, FREELIST_GROUPS N, LOGGING V3"
)
_TABLES = (
    f"OWNER V128, TABLE_NAME V128, TABLESPACE_NAME V30, CLUSTER_NAME V128, IOT_NAME V128, STATUS V8, {_STORAGE}, "
    "BACKED_UP V1, NUM_ROWS N, BLOCKS N, EMPTY_BLOCKS N, AVG_SPACE N, CHAIN_CNT N, AVG_ROW_LEN N, "
    "AVG_SPACE_FREELIST_BLOCKS N, NUM_FREELIST_BLOCKS N, DEGREE V40, INSTANCES V40, CACHE V20, TABLE_LOCK V8, "
    "SAMPLE_SIZE N, LAST_ANALYZED D, PARTITIONED V3, IOT_TYPE V12, {extra}TEMPORARY V1, SECONDARY V1, NESTED V3, "
    "BUFFER_POOL V7, FLASH_CACHE V7, CELL_FLASH_CACHE V7, ROW_MOVEMENT V8, GLOBAL_STATS V3, USER_STATS V3, DURATION V15, "
    "SKIP_CORRUPT V8, MONITORING V3, CLUSTER_OWNER V128, DEPENDENCIES V8, COMPRESSION V8, COMPRESS_FOR V30, DROPPED V3, "
    "READ_ONLY V3, SEGMENT_CREATED V3, RESULT_CACHE V7, CLUSTERING V3, HAS_IDENTITY V3, CONTAINER_DATA V3, "
    "INMEMORY V8, EXTERNAL V3, HYBRID V3"
)
_TAB_COLUMNS = (
    "OWNER V128, TABLE_NAME V128, COLUMN_NAME V128, DATA_TYPE V128, DATA_TYPE_MOD V3, DATA_TYPE_OWNER V128, DATA_LENGTH N, "
    "DATA_PRECISION N, DATA_SCALE N, NULLABLE V1, COLUMN_ID N, DEFAULT_LENGTH N, DATA_DEFAULT L, NUM_DISTINCT N, "
    "LOW_VALUE R2000, HIGH_VALUE R2000, DENSITY N, NUM_NULLS N, NUM_BUCKETS N, LAST_ANALYZED D, SAMPLE_SIZE N, "
    "CHARACTER_SET_NAME V44, CHAR_COL_DECL_LENGTH N, GLOBAL_STATS V3, USER_STATS V3, AVG_COL_LEN N, CHAR_LENGTH N, "
    "CHAR_USED V1, V80_FMT_IMAGE V3, DATA_UPGRADED V3, {hidden}HISTOGRAM V15, DEFAULT_ON_NULL V3, IDENTITY_COLUMN V3, "
    "EVALUATION_EDITION V128, UNUSABLE_BEFORE V128, UNUSABLE_BEGINNING V128, COLLATION V100"
)
_HIDDEN = (
    "HIDDEN_COLUMN V3, VIRTUAL_COLUMN V3, SEGMENT_COLUMN_ID N, INTERNAL_COLUMN_ID N, QUALIFIED_COL_NAME V4000, "
    "USER_GENERATED V3, "
)
_CONSTRAINTS = (
    "OWNER V128, CONSTRAINT_NAME V128, CONSTRAINT_TYPE V1, TABLE_NAME V128, SEARCH_CONDITION L, SEARCH_CONDITION_VC V4000, "
    "R_OWNER V128, R_CONSTRAINT_NAME V128, DELETE_RULE V9, STATUS V8, DEFERRABLE V14, DEFERRED V9, VALIDATED V13, "
    "GENERATED V14, BAD V3, RELY V4, LAST_CHANGE D, INDEX_OWNER V128, INDEX_NAME V128, INVALID V7, VIEW_RELATED V14, "
    "ORIGIN_CON_ID N"
)
_CONS_COLUMNS = "OWNER V128, CONSTRAINT_NAME V128, TABLE_NAME V128, COLUMN_NAME V4000, POSITION N"
_INDEXES = (
    "OWNER V128, INDEX_NAME V128, INDEX_TYPE V27, TABLE_OWNER V128, TABLE_NAME V128, TABLE_TYPE V11, UNIQUENESS V9, "
    "COMPRESSION V13, PREFIX_LENGTH N, TABLESPACE_NAME V30, INI_TRANS N, MAX_TRANS N, PCT_FREE N, LOGGING V3, BLEVEL N, "
    "LEAF_BLOCKS N, DISTINCT_KEYS N, CLUSTERING_FACTOR N, STATUS V8, NUM_ROWS N, SAMPLE_SIZE N, LAST_ANALYZED D, DEGREE V40, "
    "INSTANCES V40, PARTITIONED V3, TEMPORARY V1, GENERATED V1, SECONDARY V1, BUFFER_POOL V7, USER_STATS V3, DURATION V15, "
    "FUNCIDX_STATUS V8, JOIN_INDEX V3, DROPPED V3, VISIBILITY V9, SEGMENT_CREATED V3, CONSTRAINT_INDEX V3"
)
_IND_COLUMNS = (
    "INDEX_OWNER V128, INDEX_NAME V128, TABLE_OWNER V128, TABLE_NAME V128, COLUMN_NAME V4000, COLUMN_POSITION N, "
    "COLUMN_LENGTH N, CHAR_LENGTH N, DESCEND V4"
)
_OBJECTS = (
    "OWNER V128, OBJECT_NAME V128, SUBOBJECT_NAME V128, OBJECT_ID N, DATA_OBJECT_ID N, OBJECT_TYPE V23, CREATED D, "
    "LAST_DDL_TIME D, TIMESTAMP V19, STATUS V7, TEMPORARY V1, GENERATED V1, SECONDARY V1, NAMESPACE N, EDITION_NAME V128, "
    "SHARING V18, EDITIONABLE V1, ORACLE_MAINTAINED V1, APPLICATION V1, DEFAULT_COLLATION V100, DUPLICATED V1, SHARDED V1"
)
_LOG_GROUPS = "OWNER V128, LOG_GROUP_NAME V128, TABLE_NAME V128, LOG_GROUP_TYPE V19, ALWAYS V11, GENERATED V14"
_LOG_GROUP_COLUMNS = "OWNER V128, LOG_GROUP_NAME V128, TABLE_NAME V128, COLUMN_NAME V4000, POSITION N, LOGGING_PROPERTY V6"
_TAB_COMMENTS = "OWNER V128, TABLE_NAME V128, TABLE_TYPE V11, COMMENTS V4000, ORIGIN_CON_ID N"
_COL_COMMENTS = "OWNER V128, TABLE_NAME V128, COLUMN_NAME V128, COMMENTS V4000, ORIGIN_CON_ID N"
_RECYCLE_BIN = (
    "OWNER V128, OBJECT_NAME V128, ORIGINAL_NAME V128, OPERATION V9, TYPE V25, TS_NAME V30, CREATETIME V19, DROPTIME V19, "
    "DROPSCN N, PARTITION_NAME V128, CAN_UNDROP V3, CAN_PURGE V3, RELATED N, BASE_OBJECT N, PURGE_OBJECT N, SPACE N"
)
_CHARACTER = (OraType.VARCHAR2, OraType.CHAR)
_LENGTHS = {
    **{OraType.NUMBER: 22, OraType.DATE: 7, OraType.TIMESTAMP: 11, OraType.TIMESTAMP_TZ: 13, OraType.TIMESTAMP_LTZ: 11},
    **{OraType.BINARY_FLOAT: 4, OraType.BINARY_DOUBLE: 8, OraType.INTERVAL_YM: 5, OraType.INTERVAL_DS: 11},
}


def _family(name: str, text: str, rows: TableRows, *, owner: str = "OWNER", recycled: bool = False) -> list[View]:
    """The ALL_, DBA_ and USER_ form of one view."""

    def visible(session: Session) -> Iterator[Row]:
        container, catalog = asking(session).container, asking(session).database.catalog
        for table in catalog.dropped(container) if recycled else catalog.tables(container):
            yield from rows(table)

    def own(session: Session) -> Iterator[Row]:
        for row in visible(session):
            if row[owner] == session.user:
                yield {key: value for key, value in row.items() if key != owner}

    views = [
        view(f"DBA_{name}", text, visible),
        view(f"USER_{name}", text.replace(f"{owner} V128, ", "", 1), own),
    ]
    return views if recycled else [view(f"ALL_{name}", text, visible), *views]  # there is no ALL_RECYCLEBIN


def _tables(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "TABLE_NAME": table.name,
        "TABLESPACE_NAME": table.tablespace,
        "STATUS": "VALID",
        "PCT_FREE": 10,
        "INI_TRANS": 1,
        "MAX_TRANS": 255,
        "LOGGING": "YES",
        "BACKED_UP": "N",
        "DEGREE": "         1",
        "INSTANCES": "         1",
        "CACHE": "    N",
        "TABLE_LOCK": "ENABLED",
        "PARTITIONED": "NO",
        "TEMPORARY": "N",
        "SECONDARY": "N",
        "NESTED": "NO",
        "BUFFER_POOL": "DEFAULT",
        "FLASH_CACHE": "DEFAULT",
        "CELL_FLASH_CACHE": "DEFAULT",
        "ROW_MOVEMENT": "DISABLED",
        "GLOBAL_STATS": "NO",
        "USER_STATS": "NO",
        "SKIP_CORRUPT": "DISABLED",
        "MONITORING": "YES",
        "DEPENDENCIES": "DISABLED",
        "COMPRESSION": "DISABLED",
        "DROPPED": "NO",
        "READ_ONLY": "NO",
        "SEGMENT_CREATED": "YES",
        "RESULT_CACHE": "DEFAULT",
        "CLUSTERING": "NO",
        "HAS_IDENTITY": "NO",
        "CONTAINER_DATA": "NO",
        "INMEMORY": "DISABLED",
        "EXTERNAL": "NO",
        "HYBRID": "NO",
    }


def _data_length(column: Column) -> int:
    if column.type in (OraType.TIMESTAMP, OraType.TIMESTAMP_LTZ) and column.scale == 0:
        return 7
    return _LENGTHS.get(column.type, column.size)


def _precision_and_scale(column: Column) -> tuple[int | None, int | None]:
    """As the dictionary tells them: NUMBER has neither, FLOAT no scale, TIMESTAMP its digits as scale."""
    if column.type is OraType.NUMBER:
        if column.float_:
            return column.precision, None
        return column.precision or None, None if column.scale == -127 else column.scale
    if column.type in (OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ):
        return None, column.scale
    if column.type in (OraType.INTERVAL_YM, OraType.INTERVAL_DS):
        return column.precision, column.scale
    return None, None


def _tab_columns(table: Table) -> Iterator[Row]:
    for place, column in enumerate(table.columns, 1):
        precision, scale = _precision_and_scale(column)
        text = column.type in _CHARACTER
        yield {
            "OWNER": table.owner,
            "TABLE_NAME": table.name,
            "COLUMN_NAME": column.name,
            "DATA_TYPE": column.data_type,
            "DATA_LENGTH": _data_length(column),
            "DATA_PRECISION": precision,
            "DATA_SCALE": scale,
            "NULLABLE": "Y" if column.nullable else "N",
            "COLUMN_ID": place,
            "DEFAULT_LENGTH": len(column.default) if column.default is not None else None,
            "DATA_DEFAULT": column.default,
            "CHARACTER_SET_NAME": ("NCHAR_CS" if column.national else "CHAR_CS") if text else None,
            "CHAR_COL_DECL_LENGTH": column.size if text else None,
            "GLOBAL_STATS": "NO",
            "USER_STATS": "NO",
            "CHAR_LENGTH": (column.char_length or column.size) if text else 0,
            "CHAR_USED": column.semantics if text else None,
            "V80_FMT_IMAGE": "NO",
            "DATA_UPGRADED": "YES",
            "HISTOGRAM": "NONE",
            "DEFAULT_ON_NULL": "NO",
            "IDENTITY_COLUMN": "NO",
            "COLLATION": "USING_NLS_COMP" if text else None,
        }


def _tab_cols(table: Table) -> Iterator[Row]:
    for place, row in enumerate(_tab_columns(table), 1):
        yield {
            **row,
            "HIDDEN_COLUMN": "NO",
            "VIRTUAL_COLUMN": "NO",
            "SEGMENT_COLUMN_ID": place,
            "INTERNAL_COLUMN_ID": place,
            "QUALIFIED_COL_NAME": row["COLUMN_NAME"],
            "USER_GENERATED": "YES",
        }


def _constraints(table: Table) -> Iterator[Row]:
    for constraint in (*table.constraints, *table.checks):
        yield {
            "OWNER": table.owner,
            "CONSTRAINT_NAME": constraint.name,
            "CONSTRAINT_TYPE": constraint.kind,
            "TABLE_NAME": table.name,
            "SEARCH_CONDITION": constraint.condition,
            "SEARCH_CONDITION_VC": constraint.condition,
            "STATUS": "ENABLED",
            "DEFERRABLE": "NOT DEFERRABLE",
            "DEFERRED": "IMMEDIATE",
            "VALIDATED": "VALIDATED",
            "GENERATED": "GENERATED NAME" if constraint.generated else "USER NAME",
            "LAST_CHANGE": date(table.last_ddl),
            "INDEX_OWNER": table.owner if constraint.index else None,
            "INDEX_NAME": constraint.index,
            "ORIGIN_CON_ID": table.container,
        }


def _cons_columns(table: Table) -> Iterator[Row]:
    for constraint in (*table.constraints, *table.checks):
        for place, column in enumerate(constraint.columns, 1):
            yield {
                "OWNER": table.owner,
                "CONSTRAINT_NAME": constraint.name,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": column,
                "POSITION": None if constraint.kind == "C" else place,
            }


def _indexes(table: Table) -> Iterator[Row]:
    backing = {constraint.index: constraint for constraint in table.constraints if constraint.index}
    for index in table.indexes:
        constraint = backing.get(index.name)
        yield {
            "OWNER": index.owner,
            "INDEX_NAME": index.name,
            "INDEX_TYPE": "NORMAL",
            "TABLE_OWNER": table.owner,
            "TABLE_NAME": table.name,
            "TABLE_TYPE": "TABLE",
            "UNIQUENESS": "UNIQUE" if index.unique else "NONUNIQUE",
            "COMPRESSION": "DISABLED",
            "TABLESPACE_NAME": table.tablespace,
            "INI_TRANS": 2,
            "MAX_TRANS": 255,
            "PCT_FREE": 10,
            "LOGGING": "YES",
            "STATUS": "VALID",
            "DEGREE": "1",
            "INSTANCES": "1",
            "PARTITIONED": "NO",
            "TEMPORARY": "N",
            "GENERATED": "Y" if constraint is not None and constraint.generated else "N",
            "SECONDARY": "N",
            "BUFFER_POOL": "DEFAULT",
            "USER_STATS": "NO",
            "JOIN_INDEX": "NO",
            "DROPPED": "NO",
            "VISIBILITY": "VISIBLE",
            "SEGMENT_CREATED": "YES",
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
                "COLUMN_LENGTH": _data_length(column),
                "CHAR_LENGTH": (column.char_length or column.size) if column.type in _CHARACTER else 0,
                "DESCEND": "ASC",
            }


def _objects(table: Table) -> Iterator[Row]:
    shared: Row = {
        "STATUS": "VALID",
        "TEMPORARY": "N",
        "GENERATED": "N",
        "SECONDARY": "N",
        "SHARING": "NONE",
        "ORACLE_MAINTAINED": "N",
        "APPLICATION": "N",
        "DUPLICATED": "N",
        "SHARDED": "N",
    }
    yield {
        **shared,
        "OWNER": table.owner,
        "OBJECT_NAME": table.name,
        "OBJECT_ID": table.object_id,
        "DATA_OBJECT_ID": table.data_object_id,
        "OBJECT_TYPE": "TABLE",
        "CREATED": date(table.created),
        "LAST_DDL_TIME": date(table.last_ddl),
        "NAMESPACE": 1,
        "DEFAULT_COLLATION": "USING_NLS_COMP",
    }
    for index in table.indexes:
        yield {
            **shared,
            "OWNER": index.owner,
            "OBJECT_NAME": index.name,
            "OBJECT_ID": index.object_id,
            "DATA_OBJECT_ID": index.object_id,
            "OBJECT_TYPE": "INDEX",
            "CREATED": date(index.created),
            "LAST_DDL_TIME": date(index.created),
            "NAMESPACE": 4,
        }


def _log_groups(table: Table) -> Iterator[Row]:
    for group in table.log_groups:
        yield {
            "OWNER": table.owner,
            "LOG_GROUP_NAME": group.name,
            "TABLE_NAME": table.name,
            "LOG_GROUP_TYPE": group.kind,
            "ALWAYS": "ALWAYS" if group.always else "CONDITIONAL",
            "GENERATED": "GENERATED NAME" if group.generated else "USER NAME",
        }


def _log_group_columns(table: Table) -> Iterator[Row]:
    for group in table.log_groups:
        for place, column in enumerate(group.columns, 1):
            yield {
                "OWNER": table.owner,
                "LOG_GROUP_NAME": group.name,
                "TABLE_NAME": table.name,
                "COLUMN_NAME": column,
                "POSITION": place,
                "LOGGING_PROPERTY": "LOG",
            }


def _tab_comments(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "TABLE_NAME": table.name,
        "TABLE_TYPE": "TABLE",
        "COMMENTS": table.comment,
        "ORIGIN_CON_ID": table.container,
    }


def _col_comments(table: Table) -> Iterator[Row]:
    for column in table.columns:
        yield {
            "OWNER": table.owner,
            "TABLE_NAME": table.name,
            "COLUMN_NAME": column.name,
            "COMMENTS": column.comment,
            "ORIGIN_CON_ID": table.container,
        }


def _recycle_bin(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "OBJECT_NAME": table.dropped_as,
        "ORIGINAL_NAME": table.name,
        "OPERATION": "DROP",
        "TYPE": "TABLE",
        "TS_NAME": table.tablespace,
        "CAN_UNDROP": "YES",
        "CAN_PURGE": "YES",
        "RELATED": table.object_id,
        "BASE_OBJECT": table.object_id,
        "PURGE_OBJECT": table.object_id,
    }


VIEWS: tuple[View, ...] = (
    *_family("TABLES", _TABLES.format(extra=""), _tables),
    *_family("ALL_TABLES", _TABLES.format(extra="OBJECT_ID_TYPE V16, TABLE_TYPE_OWNER V128, TABLE_TYPE V128, "), _tables),
    *_family("TAB_COLS", _TAB_COLUMNS.format(hidden=_HIDDEN), _tab_cols),
    *_family("TAB_COLUMNS", _TAB_COLUMNS.format(hidden=""), _tab_columns),
    *_family("CONSTRAINTS", _CONSTRAINTS, _constraints),
    *_family("CONS_COLUMNS", _CONS_COLUMNS, _cons_columns),
    *_family("INDEXES", _INDEXES, _indexes),
    *_family("IND_COLUMNS", _IND_COLUMNS, _ind_columns, owner="INDEX_OWNER"),
    *_family("OBJECTS", _OBJECTS, _objects),
    *_family("LOG_GROUPS", _LOG_GROUPS, _log_groups),
    *_family("LOG_GROUP_COLUMNS", _LOG_GROUP_COLUMNS, _log_group_columns),
    *_family("TAB_COMMENTS", _TAB_COMMENTS, _tab_comments),
    *_family("COL_COMMENTS", _COL_COMMENTS, _col_comments),
    *_family("RECYCLEBIN", _RECYCLE_BIN, _recycle_bin, recycled=True),
)
