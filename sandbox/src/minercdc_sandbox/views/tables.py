"""Dictionary views of tables, their columns, comments and log groups, and of the recycle bin."""

from __future__ import annotations

from collections.abc import Iterator

from minercdc_sandbox.interfaces import OraType, View
from minercdc_sandbox.tables import Column, ConstraintKind, Table
from minercdc_sandbox.views.family import family
from minercdc_sandbox.views.shape import Row, date, yes_no

_STORAGE = (
    "PCT_FREE N=10, PCT_USED N, INI_TRANS N=1, MAX_TRANS N=255, INITIAL_EXTENT N, NEXT_EXTENT N, MIN_EXTENTS N, "
    "MAX_EXTENTS N, PCT_INCREASE N, FREELISTS N, FREELIST_GROUPS N, LOGGING V3=YES"
)
_TABLES = (
    f"OWNER V128, TABLE_NAME V128, TABLESPACE_NAME V30, CLUSTER_NAME V128, IOT_NAME V128, STATUS V8=VALID, {_STORAGE}, "
    "BACKED_UP V1=N, NUM_ROWS N, BLOCKS N, EMPTY_BLOCKS N, AVG_SPACE N, CHAIN_CNT N, AVG_ROW_LEN N, "
    "AVG_SPACE_FREELIST_BLOCKS N, NUM_FREELIST_BLOCKS N, DEGREE V40=         1, INSTANCES V40=         1, "
    "CACHE V20=    N, TABLE_LOCK V8=ENABLED, SAMPLE_SIZE N, LAST_ANALYZED D, PARTITIONED V3, IOT_TYPE V12, "
    "{extra}TEMPORARY V1, SECONDARY V1=N, NESTED V3=NO, BUFFER_POOL V7=DEFAULT, FLASH_CACHE V7=DEFAULT, "
    "CELL_FLASH_CACHE V7=DEFAULT, ROW_MOVEMENT V8, GLOBAL_STATS V3=NO, USER_STATS V3=NO, DURATION V15, "
    "SKIP_CORRUPT V8=DISABLED, MONITORING V3=YES, CLUSTER_OWNER V128, DEPENDENCIES V8, COMPRESSION V8=DISABLED, "
    "COMPRESS_FOR V30, DROPPED V3=NO, READ_ONLY V3, SEGMENT_CREATED V3=YES, RESULT_CACHE V7=DEFAULT, CLUSTERING V3=NO, "
    "HAS_IDENTITY V3, CONTAINER_DATA V3=NO, INMEMORY V8=DISABLED, EXTERNAL V3=NO, HYBRID V3=NO"
)
_TAB_COLUMNS = (
    "OWNER V128, TABLE_NAME V128, COLUMN_NAME V128, DATA_TYPE V128, DATA_TYPE_MOD V3, DATA_TYPE_OWNER V128, DATA_LENGTH N, "
    "DATA_PRECISION N, DATA_SCALE N, NULLABLE V1, COLUMN_ID N, DEFAULT_LENGTH N, DATA_DEFAULT L, NUM_DISTINCT N, "
    "LOW_VALUE R2000, HIGH_VALUE R2000, DENSITY N, NUM_NULLS N, NUM_BUCKETS N, LAST_ANALYZED D, SAMPLE_SIZE N, "
    "CHARACTER_SET_NAME V44, CHAR_COL_DECL_LENGTH N, GLOBAL_STATS V3=NO, USER_STATS V3=NO, AVG_COL_LEN N, CHAR_LENGTH N, "
    "CHAR_USED V1, V80_FMT_IMAGE V3=NO, DATA_UPGRADED V3=YES, {hidden}HISTOGRAM V15=NONE, DEFAULT_ON_NULL V3, "
    "IDENTITY_COLUMN V3, EVALUATION_EDITION V128, UNUSABLE_BEFORE V128, UNUSABLE_BEGINNING V128, COLLATION V100"
)
_HIDDEN = (
    "HIDDEN_COLUMN V3, VIRTUAL_COLUMN V3, SEGMENT_COLUMN_ID N, INTERNAL_COLUMN_ID N, QUALIFIED_COL_NAME V4000, "
    "USER_GENERATED V3, "
)
_LOG_GROUPS = "OWNER V128, LOG_GROUP_NAME V128, TABLE_NAME V128, LOG_GROUP_TYPE V19, ALWAYS V11, GENERATED V14"
_LOG_GROUP_COLUMNS = (
    "OWNER V128, LOG_GROUP_NAME V128, TABLE_NAME V128, COLUMN_NAME V4000, POSITION N, LOGGING_PROPERTY V6=LOG"
)
_TAB_COMMENTS = "OWNER V128, TABLE_NAME V128, TABLE_TYPE V11, COMMENTS V4000, ORIGIN_CON_ID N"
_COL_COMMENTS = "OWNER V128, TABLE_NAME V128, COLUMN_NAME V128, COMMENTS V4000, ORIGIN_CON_ID N"
_RECYCLE_BIN = (
    "OWNER V128, OBJECT_NAME V128, ORIGINAL_NAME V128, OPERATION V9=DROP, TYPE V25=TABLE, TS_NAME V30, CREATETIME V19, "
    "DROPTIME V19, DROPSCN N, PARTITION_NAME V128, CAN_UNDROP V3=YES, CAN_PURGE V3=YES, RELATED N, BASE_OBJECT N, "
    "PURGE_OBJECT N, SPACE N"
)
CHARACTER = (OraType.VARCHAR2, OraType.CHAR)
_LENGTHS = {
    **{OraType.NUMBER: 22, OraType.DATE: 7, OraType.TIMESTAMP: 11, OraType.TIMESTAMP_TZ: 13, OraType.TIMESTAMP_LTZ: 11},
    **{OraType.BINARY_FLOAT: 4, OraType.BINARY_DOUBLE: 8, OraType.INTERVAL_YM: 5, OraType.INTERVAL_DS: 11},
}


def _tables(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "TABLE_NAME": table.name,
        "TABLESPACE_NAME": None if table.temporary else table.tablespace,
        "NUM_ROWS": table.analyzed[1] if table.analyzed else None,
        "LAST_ANALYZED": date(table.analyzed[0]) if table.analyzed else None,
        "PARTITIONED": yes_no(table.partitioning is not None),
        "TEMPORARY": "Y" if table.temporary else "N",
        "DURATION": {"TRANSACTION": "SYS$TRANSACTION", "SESSION": "SYS$SESSION"}.get(table.temporary or ""),
        "ROW_MOVEMENT": "ENABLED" if table.row_movement else "DISABLED",
        "DEPENDENCIES": "ENABLED" if table.row_dependencies else "DISABLED",
        "READ_ONLY": yes_no(table.read_only),
        "HAS_IDENTITY": yes_no(any(c.identity for c in table.columns)),
    }


def data_length(column: Column) -> int:
    """DATA_LENGTH of the dictionary views, in bytes: of types of one length that length, else the column's `size`."""
    if column.type in (OraType.TIMESTAMP, OraType.TIMESTAMP_LTZ) and column.scale == 0:
        return 7
    return _LENGTHS.get(column.type, column.size)


def _precision_and_scale(column: Column) -> tuple[int | None, int | None]:
    """DATA_PRECISION and DATA_SCALE, None for NULL: NUMBER without precision has neither, FLOAT no scale, TIMESTAMP its digits as
    scale; other types but intervals have neither."""
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
    """.._TAB_COLUMNS: columns but those that Oracle made: TAB_COLS has these, too."""
    for column, row in zip(table.all_columns(), _all_columns(table), strict=True):
        if not column.system:
            yield row


def _is_not_null(table: Table, column: Column) -> bool:
    """Whether NULLABLE is N: a NOT NULL constraint or the primary key says so in a state of ENABLE VALIDATE (Reference, ALL_TAB_COLUMNS), and
    cannot be deferred. Rows may be held to one of another state all the same."""
    said = [
        constraint
        for constraint in table.constraints
        if column.name in constraint.columns and constraint.kind in (ConstraintKind.CHECK, ConstraintKind.PRIMARY)
    ]
    holding = [one for one in said if one.enabled and one.validated and not one.deferrable]
    return not column.nullable and (bool(holding) or not said)


def _all_columns(table: Table) -> Iterator[Row]:
    shown = [column.name for column in table.shown_columns() if not column.invisible]
    for column in table.all_columns():
        precision, scale = _precision_and_scale(column)
        default = column.default if column.virtual is None else column.virtual
        text = column.type in CHARACTER
        yield {
            "OWNER": table.owner,
            "TABLE_NAME": table.name,
            "COLUMN_NAME": column.name,
            "DATA_TYPE": column.data_type,
            "DATA_LENGTH": data_length(column),
            "DATA_PRECISION": precision,
            "DATA_SCALE": scale,
            "NULLABLE": "N" if _is_not_null(table, column) else "Y",
            "COLUMN_ID": None if column.invisible else shown.index(column.name) + 1,
            "DEFAULT_LENGTH": len(default) if default is not None else None,
            "DATA_DEFAULT": default,
            "CHARACTER_SET_NAME": ("NCHAR_CS" if column.national else "CHAR_CS") if text else None,
            "CHAR_COL_DECL_LENGTH": column.size if text else None,
            "CHAR_LENGTH": (column.char_length or column.size) if text else 0,
            "CHAR_USED": column.semantics if text else None,
            "DEFAULT_ON_NULL": yes_no(column.on_null),
            "IDENTITY_COLUMN": yes_no(column.identity is not None),
            "COLLATION": "USING_NLS_COMP" if text else None,
        }


def _tab_cols(table: Table) -> Iterator[Row]:
    segment_place = 0
    columns = table.all_columns()
    for place, (row, column) in enumerate(zip(_all_columns(table), columns, strict=True), 1):
        virtual = column.virtual is not None
        segment_place += not virtual
        yield {
            **row,
            "HIDDEN_COLUMN": yes_no(column.invisible),
            "VIRTUAL_COLUMN": yes_no(virtual),
            "SEGMENT_COLUMN_ID": None if virtual else segment_place,
            "INTERNAL_COLUMN_ID": place,
            "QUALIFIED_COL_NAME": row["COLUMN_NAME"],
            "USER_GENERATED": yes_no(not column.system),
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
                "LOGGING_PROPERTY": "NO LOG" if column in group.unlogged else "LOG",
            }


def _tab_comments(table: Table) -> Iterator[Row]:
    yield {
        "OWNER": table.owner,
        "TABLE_NAME": table.name,
        "TABLE_TYPE": "VIEW" if table.is_view else "TABLE",
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
        "TS_NAME": table.tablespace,
        "RELATED": table.object_id,
        "BASE_OBJECT": table.object_id,
        "PURGE_OBJECT": table.object_id,
    }


VIEWS: tuple[View, ...] = (
    *family("TABLES", _TABLES.format(extra=""), _tables),
    *family("ALL_TABLES", _TABLES.format(extra="OBJECT_ID_TYPE V16, TABLE_TYPE_OWNER V128, TABLE_TYPE V128, "), _tables),
    *family("TAB_COLS", _TAB_COLUMNS.format(hidden=_HIDDEN), _tab_cols, views=True),
    *family("TAB_COLUMNS", _TAB_COLUMNS.format(hidden=""), _tab_columns, views=True),
    *family("LOG_GROUPS", _LOG_GROUPS, _log_groups, owned=True),
    *family("LOG_GROUP_COLUMNS", _LOG_GROUP_COLUMNS, _log_group_columns, owned=True),
    *family("TAB_COMMENTS", _TAB_COMMENTS, _tab_comments, views=True),
    *family("COL_COMMENTS", _COL_COMMENTS, _col_comments, views=True),
    *family("RECYCLEBIN", _RECYCLE_BIN, _recycle_bin, recycled=True),
)
