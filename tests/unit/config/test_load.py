"""Files in, sections out; every problem at once."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

from minercdc.capture.registry import adapter_names
from minercdc.config.load import SECTIONS, load_config, misspelt_variables, parse_properties
from minercdc.config.messages.converters import STRING
from minercdc.config.section import Section, choices
from minercdc.config.source.flashback import Strategy
from minercdc.errors import ConfigError
from minercdc.messages.configured import key_columns
from minercdc.oracle.connect import connect, database_name, database_names, of_database
from minercdc.schema.table import Column, TableId, TableSchema

GOOD = {
    "name": "inventory",
    "topic.prefix": "server1",
    "database.hostname": "db",
    "database.user": "c##dbz",
    "database.password": "secret",
    "database.dbname": "ORCLCDB",
    "database.pdb.name": "ORCLPDB1",
    "table.include.list": "INVENTORY.ORDERS, INVENTORY.CUSTOMERS",
    "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
    "schema.history.internal.kafka.topic": "schema-changes.inventory",
}


def problems(properties: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_properties(properties)
    return list(caught.value.problems)


def test_a_debezium_connector_registration_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "register.json"
    connect = {"connector.class": "io.debezium.connector.oracle.OracleConnector", "tasks.max": 1}
    file.write_text(json.dumps({"name": "inventory", "config": {**GOOD, **connect}}))
    config = load_config(file)
    assert config.identity.name == "inventory"
    assert config.filters.table_include_list == ("INVENTORY.ORDERS", "INVENTORY.CUSTOMERS")
    assert config.kafka.bootstrap_servers == "kafka:9092"
    assert config.database.database_password.get_secret_value() == "secret"
    assert set(config.ignored) == {"connector.class", "tasks.max"}


@pytest.mark.parametrize("ending", ["yaml", "nested.yaml", "properties", "json"])
def test_all_formats_say_the_same(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"c.{ending}"
    if ending == "nested.yaml":
        rest = "\n".join(f"{k}: '{v}'" for k, v in GOOD.items() if not k.startswith("database."))
        file.write_text(
            "database:\n  hostname: db\n  user: c##dbz\n  password: secret\n  dbname: ORCLCDB\n  pdb.name: ORCLPDB1\n" + rest
        )
    elif ending == "json":
        file.write_text(json.dumps(GOOD))
    else:
        separator = ": " if ending == "yaml" else "="
        file.write_text("\n".join(f"{k}{separator}{v}" for k, v in GOOD.items()))
    assert load_config(file) == parse_properties(GOOD)


def test_every_problem_is_reported_at_once() -> None:
    found = problems(
        {
            **GOOD,
            "database.port": "no",
            "log.mining.strategi": "x",
            "archive.log.hours": "12",
            "topic.prefix": "a b",
        }
    )
    assert [line.split(":")[0] for line in found] == [
        "archive.log.hours",
        "database.port",
        "log.mining.strategi",
        "topic.prefix",
    ]
    assert "did you mean log.mining.strategy?" in found[2]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"database.hostname": ""}, "database.hostname: needed"),
        (
            {"log.mining.archive.log.only.mode": "true", "database.connection.adapter": "logminer_unbuffered"},
            "log.mining.archive.log.only.mode: works with database.connection.adapter=logminer only",
        ),
        ({"table.exclude.list": "A.B"}, "table.include.list: set either this or table.exclude.list"),
        ({"minercdc.kafka.bootstrap.servers": "other:1"}, "must equal"),
        ({"message.key.columns": "A.B"}, "SCHEMA.TABLE:COL1,COL2"),
        ({"table.include.list": "A.("}, "not a regular expression"),
        ({"skipped.operations": "x"}, "not one of c, u, d, t, none"),
        ({"value.converter": "io.confluent.connect.avro.AvroConverter"}, "value.converter.schema.registry.url: needed"),
        ({"snapshot.mode": "sometimes"}, "snapshot.mode"),
        ({"database.password": "${env:MINERCDC_NOT_SET}"}, "MINERCDC_NOT_SET is not set"),
        ({"database.password": "${file:/nowhere:x}"}, "placeholder cannot be resolved"),
    ],
)
def test_a_bad_value_is_reported_with_its_property(change: dict[str, str], expected: str) -> None:
    assert any(expected in line for line in problems({**GOOD, **change})), expected


def test_secrets_come_from_environment_and_files_and_never_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("db=from file\n")
    config = parse_properties({**GOOD, "database.password": f"${{file:{secrets}:db}}"})
    assert config.database.database_password.get_secret_value() == "from file"
    monkeypatch.setenv("MINERCDC_DATABASE_PASSWORD", "from environment")
    config = parse_properties(GOOD)
    assert config.database.database_password.get_secret_value() == "from environment"
    assert "from environment" not in repr(config)
    monkeypatch.delenv("MINERCDC_DATABASE_PASSWORD")
    (tmp_path / "password").write_text("from its file\n")
    monkeypatch.setenv("MINERCDC_DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    assert parse_properties(GOOD).database.database_password.get_secret_value() == "from its file"


def test_naming_connects_json_converter_brings_its_default_of_schemas() -> None:
    assert not parse_properties(GOOD).values.value_converter_schemas_enable
    named = {**GOOD, "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    assert parse_properties(named).values.value_converter_schemas_enable
    assert not parse_properties({**named, "value.converter.schemas.enable": "false"}).values.value_converter_schemas_enable


def test_a_converter_of_the_environment_brings_schemas_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_VALUE_CONVERTER", STRING)
    monkeypatch.setenv("MINERCDC_VALUE_CONVERTER_SCHEMAS_ENABLE", "false")
    assert parse_properties(GOOD).values.value_converter_schemas_enable
    monkeypatch.setenv("MINERCDC_VALUE_CONVERTER", "org.apache.kafka.connect.json.JsonConverter")
    assert not parse_properties(GOOD).values.value_converter_schemas_enable
    monkeypatch.delenv("MINERCDC_VALUE_CONVERTER_SCHEMAS_ENABLE")
    assert parse_properties(GOOD).values.value_converter_schemas_enable
    assert not parse_properties(GOOD).values.key_converter_schemas_enable


def test_the_urls_of_apicurio_are_of_one_version_of_its_api() -> None:
    avro = {"value.converter": "io.apicurio.registry.utils.converter.AvroConverter"}
    (problem,) = problems(
        {**GOOD, **avro, "value.converter.apicurio.registry.url": "http://a/apis/registry/v3,http://b/apis/registry/v2"}
    )
    assert problem == "value.converter.apicurio.registry.url: the URLs are of one version of the API, v3 or v2"


@pytest.mark.parametrize(
    ("given", "converter"),
    [
        ({"value": "avro", "value.apicurio.registry.url": "APICURIO"}, "io.apicurio.registry.utils.converter.AvroConverter"),
        ({"value": "avro", "apicurio.registry.url": "APICURIO"}, "io.apicurio.registry.utils.converter.AvroConverter"),
        (
            {"value": "json", "value.apicurio.registry.url": "APICURIO"},
            "io.apicurio.registry.utils.converter.ExtJsonConverter",
        ),
        ({"value": "avro", "value.schema.registry.url": "http://r"}, "io.confluent.connect.avro.AvroConverter"),
        ({"value": "simplestring"}, "org.apache.kafka.connect.storage.StringConverter"),
        (
            {
                "value": "cloudevents",
                "value.data.serializer.type": "avro",
                "value.avro.schema.registry.url": "http://r",
            },
            "io.debezium.converters.CloudEventsConverter",
        ),
        (
            {
                "value": "cloudevents",
                "value.data.serializer.type": "avro",
                "value.avro.apicurio.registry.url": "APICURIO",
            },
            "io.debezium.converters.CloudEventsConverter",
        ),
    ],
)
def test_formats_of_debezium_server_are_its_converters(given: dict[str, str], converter: str) -> None:
    api = "http://r/apis/registry/v3"
    of_server = {f"debezium.format.{name}": value.replace("APICURIO", api) for name, value in given.items()}
    config = parse_properties({**GOOD, **of_server})
    assert config.converters.value_converter == converter
    urls = (*config.converters.registry("value").urls, *config.converters.apicurio("value", "url"))
    assert urls == (() if given == {"value": "simplestring"} else (api,) if "APICURIO" in given.values() else ("http://r",))


def test_client_settings_are_passed_on() -> None:
    config = parse_properties(
        {**GOOD, "producer.override.security.protocol": "SSL", "minercdc.kafka.client.client.rack": "r1"}
    )
    assert config.kafka_client == {"security.protocol": "SSL", "client.rack": "r1"}


@pytest.mark.parametrize("text", ["[1, 2", "- a\n- b", "just text", ""])
def test_a_file_that_holds_no_properties_is_reported(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"c\.yaml"):
        load_config(file)


@pytest.mark.parametrize(
    "file", sorted({*Path("connectors").glob("**/*.*")} - {*Path("connectors").glob("**/*.md")}), ids=lambda path: path.name
)
def test_every_example_loads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINERCDC_PASSWORD", "x")
    load_config(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("openlineage.integration.enabled", "true"),
        ("errors.tolerance", "all"),
        ("statistics.metrics.enabled", "true"),
    ],
)
def test_what_a_user_would_miss_is_refused_by_name(name: str, value: str) -> None:
    (problem,) = problems({**GOOD, name: value})
    assert problem.startswith(f"{name}: ")
    assert "not supported" in problem


def test_avro_needs_a_registry_and_brings_schemas() -> None:
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
    url = {"value.converter.schema.registry.url": "http://a:8081,http://b:8081"}
    config = parse_properties({**GOOD, **avro, **url, "value.converter.schemas.enable": "false"})
    assert config.converters.registry("value").urls == ("http://a:8081", "http://b:8081")
    assert config.values.value_converter_schemas_enable
    assert not config.values.key_converter_schemas_enable
    for more, problem in (
        ({"value.converter.schema.registry.url": "a:8081"}, "neither http nor https"),
        *(
            ({"value.converter.schema.registry.url": f"http://a:8081,{bad}"}, "http://HOST:PORT is needed")
            for bad in (
                "http://[x",
                "http://",
                "https://:8081",
                "http://a:b",
                "http://a:99999",
                "http://a:0",
            )
        ),
        ({"value.converter.basic.auth.credentials.source": "USER_INFO"}, "USER:PASSWORD is needed"),
        (
            {"value.converter.use.latest.version": "true", "value.converter.auto.register.schemas": "true"},
            "does not go with",
        ),
        ({"value.converter.schema.registry.ssl.truststore.location": "/t.jks"}, "PEM"),
        ({"key.converter": "org.apache.kafka.connect.converters.LongConverter"}, "AvroConverter"),
        ({"debezium.sink.type": "json", "minercdc.sink.path": "-"}, "supports only JSON converters"),
        ({"debezium.sink.type": "json", "minercdc.sink.path": "-", "value.converter": STRING}, "value.converter=" + STRING),
    ):
        assert problem in "".join(problems({**GOOD, **avro, **url, **more}))


def test_a_prefix_that_no_schema_can_have_is_refused_unless_names_are_adjusted() -> None:
    avro = {"value.converter": "io.confluent.connect.avro.AvroConverter", "value.converter.schema.registry.url": "http://r"}
    given = {**GOOD, **avro, "topic.prefix": "shop.my-x"}
    assert problems(given) == [
        "topic.prefix: the names of all schemas begin with shop.my-x, and my-x is not a valid name in Avro: use letters, digits"
        " and _, not beginning with a digit; schema.name.adjustment.mode=avro replaces other characters"
    ]
    parse_properties({**given, "schema.name.adjustment.mode": "avro"})
    named = {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"}
    parse_properties({**given, **named, "transforms.a.schema.name": "x.Y"})
    parse_properties({**GOOD, "topic.prefix": "shop.my-x"})


def test_copies_of_open_transactions_need_kafka() -> None:
    durable = {"minercdc.log.mining.buffer.durable": "topic"}
    parse_properties({**GOOD, **durable})
    (problem,) = problems({**GOOD, **durable, "debezium.sink.type": "json", "minercdc.sink.path": "-"})
    assert problem.startswith("minercdc.log.mining.buffer.durable: topic needs debezium.sink.type=kafka, not json")
    for name in ("bad topic!", "..", "x" * 250):
        (problem,) = problems({**GOOD, **durable, "minercdc.log.mining.buffer.durable.topic": name})
        assert "is not a topic name" in problem
    parse_properties({**GOOD, **durable, "minercdc.log.mining.buffer.durable.topic": "a.b_c-9"})


def test_what_requests_nothing_is_taken() -> None:
    asked = {
        "openlineage.integration.enabled": "False",
        "guardrail.collections.max": "0",
    }
    assert set(parse_properties({**GOOD, **asked}).ignored) == set(asked)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"database.pdb.name": "SALES,'STOCK'"}, "database.pdb.name: ''STOCK'' is not a name of a pluggable database"),
        ({"database.pdb.name": "SALES,STOCK,Sales"}, "database.pdb.name: SALES is given twice"),
        (
            {"signal.data.collection": "MORE.C##DBZ.SIGNAL"},
            "signal.data.collection: MORE.C##DBZ.SIGNAL is in none of the pluggable databases SALES, STOCK",
        ),
        (
            {
                "signal.data.collection": "sales.C##DBZ.SIGNAL",
                "incremental.snapshot.watermarking.strategy": "insert_insert",
            },
            "incremental.snapshot.watermarking.strategy: with several pluggable databases (database.pdb.name), no marks",
        ),
        ({"minercdc.handover.scn": "7"}, "minercdc.handover.scn: with several"),
        ({"debezium.sink.type": "relay"}, "debezium.sink.type: relay does not go with several"),
    ],
)
def test_what_several_pluggable_databases_do_not_have_yet_is_refused_by_name(changes: dict[str, str], problem: str) -> None:
    assert problem in "".join(problems({**GOOD, "database.pdb.name": "SALES, STOCK", **changes}))


@pytest.mark.parametrize("adapter", sorted(set(adapter_names()) - {"logminer", "logminer_unbuffered"}))
def test_several_pluggable_databases_go_with_logminer_only(adapter: str) -> None:
    given = {**GOOD, "database.pdb.name": "SALES,STOCK", "database.connection.adapter": adapter}
    assert f"support several pluggable databases, not {adapter}" in "".join(problems(given))


def test_several_pluggable_databases_are_taken_one_by_one() -> None:
    config = parse_properties({**GOOD, "database.pdb.name": 'SALES, "Stock"'})
    assert config.database.pdbs == ("SALES", '"Stock"')
    assert database_names(config.database) == ("SALES", "STOCK")
    assert of_database(config.database, "STOCK").database_pdb_name == '"Stock"'
    for needs_one in (database_name, connect):
        with pytest.raises(ConfigError, match="works with only one pluggable database") as caught:
            needs_one(config.database)
        assert "names one of them" in caught.value.hint


def test_internal_spellings_are_known() -> None:
    config = parse_properties({**GOOD, "internal.log.mining.log.query.max.retries": "3"})
    assert config.log_mining.log_mining_log_query_max_retries == 3
    assert "given twice" in problems({**GOOD, "internal.database.port": "1", "database.port": "2"})[0]


@pytest.mark.parametrize(
    "line",
    [
        "database.password: 'hidden",
        'database.password: "hidden\\q"',
        "database.url: jdbc: scott/hidden@db",
        "database.password: *hidden",
        "database.password: !hidden x",
        "database.password: !hidden!a x",
        "a: &hidden 1\nb: &hidden 2\nc: [",
    ],
)
def test_a_file_that_cannot_be_parsed_shows_no_password(tmp_path: Path, line: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(f"name: a\n{line}\n")
    with pytest.raises(ConfigError, match=r"is not valid yaml: .* in line \d, column \d+") as caught:
        load_config(file)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.yaml", None, "No such file"),
        ("bytes.yaml", b"\xff\xfe\x00a", "cannot be read"),
        ("broken.json", b'{"name": ', "is not valid json"),
        ("broken.yaml", b"a: [1, 2\nb: }", "is not valid yaml"),
        ("list.yaml", b"- a\n- b\n", "holds no properties"),
        ("empty.yaml", b"", "holds no properties"),
    ],
)
def test_an_unreadable_file_is_named(name: str, content: bytes | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(path) in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("yaml", "name: a\ntopic.prefix: p\nname: b\n"),
        ("yaml", "database:\n  hostname: a\n  hostname: b\n"),
        ("yaml", "database.hostname: a\ndatabase:\n  hostname: b\n"),
        ("json", '{"name": "a", "name": "b"}'),
        ("json", '{"name": "a", "config": {"topic.prefix": "a", "topic.prefix": "b"}}'),
        ("properties", "name=a\nname=b\n"),
    ],
)
def test_a_property_that_is_given_twice_is_an_error(tmp_path: Path, ending: str, text: str) -> None:
    file = tmp_path / f"c.{ending}"
    file.write_text(text)
    with pytest.raises(ConfigError, match="is given twice"):
        load_config(file)


def test_a_variable_close_to_a_property_is_warned_of() -> None:
    environment = {
        "MINERCDC_DATABASE_PASWORD": "x",
        "MINERCDC_DATABASE_PASSWORD_FILES": "x",
        "MINERCDC_DATABASE_PASSWORD": "x",
        "MINERCDC_DATABASE_USER_FILE": "/f",
        "MINERCDC_DATABSE_HOSTNAME": "used by the file itself",
        "MINERCDC_CACHE": "/c",
        "MINERCDC_SERVICE_HOST": "10.0.0.1",
        "MINERCDC_PORT_8089_TCP_ADDR": "10.0.0.1",
        "MINERCDC_HTTP_SERVICE_PORT": "8089",
        "MINERCDC_SOMETHING_ELSE": "x",
        "DATABASE_PASWORD": "x",
    }
    assert dict(misspelt_variables(environment, {"MINERCDC_DATABSE_HOSTNAME"})) == {
        "MINERCDC_DATABASE_PASWORD": "MINERCDC_DATABASE_PASSWORD",
        "MINERCDC_DATABASE_PASSWORD_FILES": "MINERCDC_DATABASE_PASSWORD",
    }


def problem_types(section: type[Section], name: str, value: str) -> list[str]:
    """What is said against a section that has this property only."""
    try:
        section(**{name: value})
    except ValidationError as error:
        return [problem["type"] for problem in error.errors()]
    return []


def test_the_case_of_enumeration_values_does_not_matter() -> None:
    """Of every property that has some, wherever it may be added."""
    for section in SECTIONS.values():
        for name, field in section.model_fields.items():
            for choice in choices(field.annotation):
                for spelled in (choice.upper(), f" {choice.title()} "):
                    with suppress(ValidationError):  # of what else the section needs
                        assert getattr(section(**{name: spelled}), name) == choice
                    assert "literal_error" not in problem_types(section, name, spelled), name
    lists = {
        "signal.enabled.channels": "Source, KAFKA",
        "notification.enabled.channels": "LOG",
        "skipped.operations": "NONE",
    }
    more = {"snapshot.mode": "Schema_Only", "schema.history.internal": "Kafka", "log.mining.strategy": "HYBRID"}
    config = parse_properties({**GOOD, **lists, **more})
    assert config.signals.signal_enabled_channels == ("source", "kafka")
    assert config.notifications.notification_enabled_channels == ("log",)
    assert config.values.skipped_operations == ()
    assert (config.snapshot.snapshot_mode, config.history.schema_history_internal) == ("no_data", "kafka")
    assert config.log_mining.log_mining_strategy == "hybrid"


def test_the_case_of_key_columns_does_not_matter() -> None:
    columns = (Column("ID", "NUMBER"), Column("Code", "CHAR"), Column("code", "CHAR"))
    table = TableSchema(TableId("D", "SALES", "ORDERS"), columns, (0,))
    for rule, key in (("sales.orders:id", (0,)), ("SALES.ORDERS: Id , code", (0, 2)), ("X.Y:id", (0,))):
        config = parse_properties({**GOOD, "message.key.columns": rule})
        assert key_columns(config.filters)(table) == key
    for missing in ("nr", "CODE"):
        config = parse_properties({**GOOD, "message.key.columns": f"SALES.ORDERS:{missing}"})
        with pytest.raises(ConfigError, match=missing):
            key_columns(config.filters)(table)
        assert key_columns(config.filters, former=True)(table) == (0,)


def test_properties_of_another_adapter_have_no_effect() -> None:
    both = {"minercdc.flashback.interval.ms": "10", "query.fetch.size": "10"}
    for adapter, foreign in (("logminer", "minercdc.flashback.interval.ms"), ("flashback", "query.fetch.size")):
        config = parse_properties({**GOOD, **both, "database.connection.adapter": adapter})
        assert config.ignored == {foreign: f"database.connection.adapter is {adapter}"}


def test_strategies_of_incremental_reading() -> None:
    given = "shop.big=ora_rowscn; SHOP.LOG = column:MODIFIED;SHOP.X=greatest:CREATED, MODIFIED"
    config = parse_properties({**GOOD, "minercdc.flashback.incremental": given})
    assert config.flashback.minercdc_flashback_incremental == {
        "shop.big": Strategy(),
        "SHOP.LOG": Strategy("column", ("MODIFIED",)),
        "SHOP.X": Strategy("greatest", ("CREATED", "MODIFIED")),
    }


@pytest.mark.parametrize("given", ["BIG=ora_rowscn", "S.T=column", "S.T=greatest:A", "S.T=key:A", "S.T"])
def test_a_strategy_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=r"minercdc\.flashback\.incremental: .* is not SCHEMA\.TABLE=ora_rowscn"):
        parse_properties({**GOOD, "minercdc.flashback.incremental": given})


def test_structured_times_are_refused_with_the_reason() -> None:
    (problem,) = problems({**GOOD, "time.precision.mode": "structured"})
    assert problem.startswith("time.precision.mode: structured is not supported yet: Debezium 3.7")


def test_yaml_values_are_their_text(tmp_path: Path) -> None:
    """What YAML 1.1 takes for octal numbers, truth, sexagesimal numbers or floats."""
    file = tmp_path / "c.yaml"
    given = {
        "database.password": "012345",
        "database.user": "1_000",
        "topic.prefix": "on",
        "name": "off",
        "topic.transaction": "1.10",
    }
    lines = GOOD | given
    file.write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))
    config = load_config(file)
    assert config.database.database_password is not None
    assert config.database.database_password.get_secret_value() == "012345"
    assert (config.database.database_user, config.identity.topic_prefix, config.identity.name) == ("1_000", "on", "off")


def test_the_configuration_of_another_databases_connector_is_refused() -> None:
    with pytest.raises(ConfigError, match="MySqlConnector does not read Oracle"):
        parse_properties(GOOD | {"connector.class": "io.debezium.connector.mysql.MySqlConnector"})
