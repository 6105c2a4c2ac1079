"""A Spark data source: one Oracle table AS OF one SCN, in ranges of ROWIDs that executors read side by side.

Rows come as text: `row_id`, and `c0`, `c1`, .. for the table's columns in the forms of `oracle_values`. Text keeps every digit of
a NUMBER; Spark casts it to the lake's type. A task that failed reads its range again at the same SCN.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from minercdc.config.messages.value_handling import value_handling
from minercdc.config.source.database import DatabaseConfig
from minercdc.lake.source.oracle_values import Form
from minercdc.oracle.codes import oracle_errors
from minercdc.oracle.connect import connect, of_database
from minercdc.oracle.dictionary.object_ids import refuse_renamed
from minercdc.oracle.fetching.rows import RowConverter, exact_values, selected_columns
from minercdc.schema.table import Column, TableId, TableSchema
from minercdc.snapshot.initial.rowid_ranges import cuts_of
from minercdc.values.codec import LARGE_TYPES, ValueHandling, codec_for

if TYPE_CHECKING:
    import oracledb
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from minercdc.config.load import ConnectorConfig

NAME = "minercdc_oracle"
_REGISTERING = threading.Lock()
RANGES = 32  # of a large table: small enough to show progress by, large enough to be worth a connection each
_ROWS = 5_000
_LARGE_ROWS = 100
_LARGE = LARGE_TYPES | {"LONG", "LONG RAW", "VECTOR"}


def oracle_rows(
    spark: SparkSession,
    config: ConnectorConfig,
    table: TableSchema,
    forms: Sequence[Form],
    scn: int,
    *,
    cuts: Sequence[str] = (),
    row_ids: Sequence[str] | None = None,
) -> DataFrame:
    """The rows of a table as of an SCN, as text: `row_id`, `c0`, ..; null for NULL. Oracle is read when the frame is used,
    and an error of it is then in that of Spark.

    :param forms: one for each column of the table.
    :param cuts: ROWIDs, ascending, between the ranges, as `ranges_of` returns them.
    :param row_ids: ROWIDs of the only rows to read, one at least; None for all rows.
    """
    _register(spark)
    database = of_database(config.database, table.id.database).model_dump(
        mode="json", by_alias=True, exclude={"database_password", "minercdc_database_wallet_password"}
    )
    wallet_password = config.database.minercdc_database_wallet_password
    options = {
        "database": json.dumps(database),
        "password": config.database.database_password.get_secret_value(),  # Spark hides an option of this name in its plans
        "wallet.password": wallet_password.get_secret_value() if wallet_password else "",
        "table": json.dumps([table.id, [asdict(column) for column in table.columns], table.object_id]),
        "forms": json.dumps(forms),
        "values": json.dumps(asdict(value_handling(config.values))),
        "scn": str(scn),
        "cuts": json.dumps(cuts),
        "rowids": json.dumps(row_ids),
    }
    return spark.read.format(NAME).options(**options).load()


def _register(spark: SparkSession) -> None:
    """Make the data source known to a session.

    Spark refuses a name that the thread's active session knows and this one does not, so this one is active meanwhile. Its check
    and its entry are two steps, so threads take turns.
    """
    session: Any = spark
    sessions = session._jvm.SparkSession
    with _REGISTERING:
        before = sessions.getActiveSession()
        sessions.setActiveSession(session._jsparkSession)
        try:
            spark.dataSource.register(OracleRows)
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def ranges_of(connection: oracledb.Connection, table: TableId) -> tuple[str, ...]:
    """ROWIDs at which to cut a table: none for a small one, or one whose extents may not be read. Raises TransientSourceError
    when the connection broke."""
    return cuts_of(connection, table, RANGES)


@dataclass(frozen=True)
class RowIdRange(InputPartition):  # type: ignore[misc]
    """The rows whose ROWIDs are not below `first`, and below `until`; None for no bound."""

    first: str | None
    until: str | None


class OracleRows(DataSource):  # type: ignore[misc]
    """One Oracle table as of one SCN; `oracle_rows` makes the options."""

    @classmethod
    def name(cls) -> str:
        """The name by which Spark finds the source, in this package only."""
        return NAME

    def schema(self) -> str:
        """The columns `row_id`, `c0`, `c1`, .., all of them text."""
        columns = len(json.loads(self.options["forms"]))
        return ", ".join(["row_id STRING", *(f"c{i} STRING" for i in range(columns))])

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader with a task for each range; its tasks connect to Oracle."""
        return _Reader(dict(self.options))


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, options: Mapping[str, str]) -> None:
        database = json.loads(options["database"])
        given: dict[str, Any] = {name: value for name, value in database.items() if value is not None}
        given["database.password"] = options["password"]
        if wallet_password := options["wallet.password"]:
            given["minercdc.database.wallet.password"] = wallet_password
        self._database = DatabaseConfig(**given)
        (table, columns, object_id) = json.loads(options["table"])
        self._table = TableSchema(TableId(*table), tuple(Column(**column) for column in columns), object_id=object_id)
        self._forms: list[Form] = json.loads(options["forms"])
        self._handling = ValueHandling(**json.loads(options["values"]))
        self._scn = int(options["scn"])
        self._cuts: list[str] = json.loads(options["cuts"])
        self._row_ids: list[str] | None = json.loads(options["rowids"])

    def partitions(self) -> Sequence[InputPartition]:
        return [RowIdRange(*bounds) for bounds in zip((None, *self._cuts), (*self._cuts, None), strict=True)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RowIdRange)
        with closing(connect(self._database)) as connection:
            yield from self._batches(connection, partition)

    def _batches(self, connection: oracledb.Connection, bounds: RowIdRange) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = ["row_id", *(f"c{i}" for i in range(len(self._forms)))]
        schema = pa.schema([(name, pa.string()) for name in names])
        convert = RowConverter(self._table)
        change = [_form(column, form, self._handling) for column, form in zip(self._table.columns, self._forms, strict=True)]
        large = any(column.type_name in _LARGE for column in self._table.columns)
        with oracle_errors(f"reading {self._table.id} as of SCN {self._scn}"), connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = _LARGE_ROWS if large else _ROWS
            cursor.outputtypehandler = exact_values
            cursor.execute(*self._statement(bounds))
            refuse_renamed(connection, self._table, self._scn)  # now that it runs, it is known of which table
            for batch in iter(cursor.fetchmany, []):
                row_ids, rows = zip(*convert(batch), strict=True)
                columns = zip(*rows, strict=True)
                texts = [
                    values if to_form is None else [None if v is None else to_form(v) for v in values]
                    for to_form, values in zip(change, columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays([pa.array(v, pa.string()) for v in (row_ids, *texts)], schema=schema)

    def _statement(self, bounds: RowIdRange) -> tuple[str, dict[str, str]]:
        table = f'"{self._table.id.schema}"."{self._table.id.table}" AS OF SCN {self._scn}'
        conditions, binds = [], {}
        if self._row_ids is not None:
            binds = {f"r{i}": row_id for i, row_id in enumerate(self._row_ids)}
            conditions.append(f"ROWID IN ({', '.join(f':{name}' for name in binds)})")
        for name, operator, row_id in (("first", ">=", bounds.first), ("until", "<", bounds.until)):
            if row_id is not None:
                conditions.append(f"ROWID {operator} :{name}")
                binds[name] = row_id
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {selected_columns(self._table, 'ROWID', True)} FROM {table}{where}", binds


def _form(column: Column, form: Form, handling: ValueHandling) -> Callable[[Any], str] | None:
    """A function from Row text to the form; None where the form is the text itself. The function raises ValueDecodeError
    for a value that does not fit the column."""
    if form == "row":
        return None
    to_json = codec_for(column, handling).to_json

    def text(value: str) -> str:
        fragment = to_json(value)
        return str(json.loads(fragment)) if fragment.startswith('"') else fragment

    return text
