"""SQL_REDO in memory to key and value bytes by Debezium's own classes: its parser, its converters, Kafka Connect's JsonConverter.

What it does for a row in between is left out: events in its buffer, a `source` of its own for each record.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import psutil
import pyspark
from rich.console import Console
from rich.table import Table
from tests.parity.debezium import VERSION, Debezium

from bench.processes import Sandbox
from bench.redo_text import ORDERS, PEOPLE, Statement, statements
from bench.tables import SEED
from bench.text_stages import best_rate
from minercdc.schema.table import Column, TableSchema
from minercdc.stream.events import Op

_ROWS, _WARM, _PASSES = 60_000, 5, 10
_JDBC_TYPES: Final = {"NUMBER": 2, "VARCHAR2": 12, "NVARCHAR2": -9, "RAW": -3, "DATE": 93, "TIMESTAMP": 93}
_LETTERS: Final = {Op.CREATE: "c", Op.UPDATE: "u", Op.DELETE: "d"}
_TABLES: Final = (PEOPLE.schema, ORDERS.schema)

_GIVEN: Final = {
    "scn",
    "commit_scn",
    "txId",
    "txSeq",
    "rs_id",
    "ssn",
    "redo_thread",
    "row_id",
    "ts_us",
    "ts_ns",
    "table",
    "schema",
}

# The packaged Java has no compiler; Spark's has one that knows no generics.
_LOOP: Final = """
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlEntry;
import io.debezium.connector.oracle.logminer.parser.LogMinerDmlParser;
import io.debezium.relational.Table;
import io.debezium.relational.TableSchema;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Instant;
import java.util.List;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;

public class Loop {
    private final List lines;

    public Loop(String file) throws Exception {
        lines = Files.readAllLines(Paths.get(file, new String[0]));
    }

    public long once(LogMinerDmlParser parser, List tables, List schemas, Struct source, JsonConverter keys, JsonConverter values) {
        long bytes = 0;
        for (int i = 0; i < lines.size(); i++) {
            String line = (String) lines.get(i);
            int number = line.charAt(0) - '0';
            TableSchema schema = (TableSchema) schemas.get(number);
            LogMinerDmlEntry entry = parser.parse(line.substring(2), (Table) tables.get(number));
            Object[] image = line.charAt(1) == 'd' ? entry.getOldValues() : entry.getNewValues();
            Struct row = schema.valueFromColumnData(image);
            Struct event;
            if (line.charAt(1) == 'c') {
                event = schema.getEnvelopeSchema().create(row, source, Instant.now());
            } else if (line.charAt(1) == 'u') {
                Struct before = schema.valueFromColumnData(entry.getOldValues());
                event = schema.getEnvelopeSchema().update(before, row, source, Instant.now());
            } else {
                event = schema.getEnvelopeSchema().delete(row, source, Instant.now());
            }
            bytes += keys.fromConnectData("t", schema.keySchema(), schema.keyFromColumnData(image)).length;
            bytes += values.fromConnectData("t", schema.getEnvelopeSchema().schema(), event).length;
        }
        return bytes;
    }
}
"""


def compare_text(console: Console) -> None:
    """Print rows per CPU second of both, over the rows of `bench text`."""
    rows = list(statements(_ROWS))
    table = Table(
        "redo text to key and value bytes", *(f"{who}, rows / cpu s" for who in (f"Debezium {VERSION}", "minercdc")), "ratio"
    )
    for name, schemas in (("6 and 25 columns", _TABLES), ("6 columns", _TABLES[:1]), ("25 columns", _TABLES[1:])):
        chosen = [row for row in rows if row.schema in schemas]
        theirs = len(chosen) / _debezium_seconds(chosen)
        mine = best_rate(chosen)
        table.add_row(name, f"{theirs:,.0f}", f"{mine:,.0f}", f"{mine / theirs:.1f}")
    console.print(
        f"the best of {_PASSES} whole passes after {_WARM} that warm Debezium up, and of twenty of minercdc; all threads of a process count",
        highlight=False,
    )
    console.print(table)


def _debezium_seconds(rows: Iterable[Statement]) -> float:
    """CPU seconds of the best pass over the rows."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        lines = directory / "redo.txt"
        places = {schema.id: number for number, schema in enumerate(_TABLES)}
        lines.write_text("".join(f"{places[row.schema.id]}{_LETTERS[row.op]}{row.sql}\n" for row in rows))
        jars = sorted((Path(pyspark.__file__).parent / "jars").glob("*commons-compiler-*.jar"))
        jars += sorted((Path(pyspark.__file__).parent / "jars").glob("janino-*.jar"))
        with ExitStack() as opened:
            sandbox = opened.enter_context(Sandbox(directory, SEED))  # its converters want the database's character set
            debezium = opened.enter_context(closing(Debezium({}, directory, ["-Xmx1g"], jars)))
            one_pass = _prepared(debezium, sandbox, lines)
            process, seconds = psutil.Process(debezium.pid), []
            for _ in range(_WARM + _PASSES):
                begun = process.cpu_times()
                one_pass()
                ended = process.cpu_times()
                seconds.append(ended.user + ended.system - begun.user - begun.system)
            return float(min(seconds[_WARM:]))


def _prepared(debezium: Debezium, sandbox: Sandbox, lines: Path) -> Any:
    """What makes one pass, over tables as its connector knows them."""
    jvm: Any = debezium.jvm
    of = jvm.io.debezium
    settings = {"topic.prefix": "peer", "database.dbname": "ORCLCDB", "database.pdb.name": "ORCLPDB1"}
    settings |= {"database.hostname": sandbox.host, "database.port": str(sandbox.port)}
    settings |= {"database.user": "c##minercdc", "database.password": "minercdc"}
    configuration = getattr(of.config.Configuration, "from")(settings)
    config = of.connector.oracle.OracleConnectorConfig(configuration)
    converters = of.connector.oracle.OracleValueConverters(config, of.connector.oracle.OracleConnection(config, True))
    adjuster = config.schemaNameAdjuster()
    makes_source = config.getSourceInfoStructMaker()
    builder = of.relational.TableSchemaBuilder(
        converters,
        adjuster,
        of.relational.CustomConverterRegistry(jvm.java.util.ArrayList()),
        makes_source.schema(),
        config.getTransactionMetadataFactory().getTransactionStructMaker().getTransactionBlockSchema(),
        config.getFieldNamer(),
        False,
        config.getEventConvertingFailureHandlingMode(),
    )
    naming = config.getTopicNamingStrategy(of.config.CommonConnectorConfig.TOPIC_NAMING_STRATEGY)
    tables, schemas = jvm.java.util.ArrayList(), jvm.java.util.ArrayList()
    for schema in _TABLES:
        table = _table(jvm, schema)
        tables.add(table)
        schemas.add(builder.create(naming, table, None, None, None))
    converted = []
    for is_key in (True, False):
        converter = jvm.org.apache.kafka.connect.json.JsonConverter()
        converter.configure({"schemas.enable": "false"}, is_key)
        converted.append(converter)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_LOOP)
    constructor = compiler.getClassLoader().loadClass("Loop").getConstructors()[0]
    arguments = debezium.array(jvm.java.lang.Object, 1)
    arguments[0] = str(lines)
    loop = constructor.newInstance(arguments)
    parser = of.connector.oracle.logminer.parser.LogMinerDmlParser(config)
    source = _source(jvm, makes_source.schema())
    return lambda: loop.once(parser, tables, schemas, source, *converted)


def _table(jvm: Any, schema: TableSchema) -> Any:
    editor = jvm.io.debezium.relational.Table.editor()
    editor.tableId(jvm.io.debezium.relational.TableId(schema.id.database, schema.id.schema, schema.id.table))
    columns = jvm.java.util.ArrayList()
    for number, column in enumerate(schema.columns):
        columns.add(_column(jvm, column, number, number not in schema.key))
    editor.setColumns(columns)
    names = jvm.java.util.ArrayList()
    for number in schema.key:
        names.add(schema.columns[number].name)
    editor.setPrimaryKeyNames(names)
    return editor.create()


def _column(jvm: Any, column: Column, number: int, optional: bool) -> Any:
    editor = jvm.io.debezium.relational.Column.editor().name(column.name).position(number + 1).optional(optional)
    kind = "TIMESTAMP(6)" if column.type_name == "TIMESTAMP" else column.type_name
    editor.type(kind).jdbcType(_JDBC_TYPES[column.type_name])
    if column.length is not None:
        editor.length(column.length)
    if column.scale is not None:
        editor.scale(column.scale)
    return editor.create()


def _source(jvm: Any, schema: Any) -> Any:
    """A `source` with the fields that Debezium gives for a change that it mined."""
    values = {"int64": 1_772_366_400_000, "int32": 1, "string": "0x000123.00004567.0010", "boolean": False}
    found = jvm.org.apache.kafka.connect.data.Struct(schema)
    for field in schema.fields():
        if field.schema().isOptional() and field.name() not in _GIVEN:
            continue
        kind = field.schema().type().getName()
        value = values[kind]
        found.put(field, jvm.java.lang.Long(value) if kind == "int64" else value)
    return found
