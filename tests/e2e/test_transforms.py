"""Every file in connectors/transforms/ is run as it is: its records are in the topics, and of the form, that its first line promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.connector import MinerCdc
from tests.e2e.lab import Lab
from tests.e2e.topics import Read, Topics
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.config.files import read_file
from minercdc.config.transforms.options import PREDICATES, TRANSFORMATIONS
from minercdc.local.kafka_broker import KafkaBroker

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "connectors" / "transforms").iterdir())
CHANGES = (
    "INSERT INTO ORDERS VALUES (100, 1, 'OPEN')",
    "UPDATE ORDERS SET STATUS = 'SENT' WHERE ORDER_ID = 100",
    "DELETE FROM ORDERS WHERE ORDER_ID = 100",
    "INSERT INTO CUSTOMERS VALUES (100, 'Edsger')",
    "INSERT INTO OUTBOX VALUES ('e-1', 'order', '100', 'OrderOpened', '{\"status\":\"OPEN\"}')",
)
UNDO = ("DELETE FROM CUSTOMERS WHERE CUSTOMER_ID = 100", "DELETE FROM OUTBOX")


@pytest.fixture(scope="module")
def shop() -> Iterator[SandboxProcess]:
    running = SandboxProcess([ROOT / "signals" / "shop.sql"])
    try:
        with running.connect("shop", "shop") as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE OUTBOX (ID VARCHAR2(36) PRIMARY KEY, AGGREGATETYPE VARCHAR2(40), AGGREGATEID VARCHAR2(40),"
                " TYPE VARCHAR2(40), PAYLOAD VARCHAR2(4000))"
            )
            cursor.execute("ALTER TABLE OUTBOX ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
        yield running
    finally:
        running.stop()


def change(shop: SandboxProcess, *statements: str) -> None:
    with shop.connect("shop", "shop") as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def values(records: list[Read], key: Any) -> list[Any]:
    return [record.value for record in records if record.key == key]


def _unwrapped(found: list[Read]) -> bool:
    order = {"ORDER_ID": 100, "CUSTOMER_ID": 1}
    made = [{**value, "__scn": int(value["__scn"]) > 0} for value in values(found, {"ORDER_ID": 100})]
    return made == [
        {**order, "STATUS": "OPEN", "__deleted": "false", "__op": "c", "__scn": True},
        {**order, "STATUS": "SENT", "__deleted": "false", "__op": "u", "__scn": True},
        {**order, "STATUS": "SENT", "__deleted": "true", "__op": "d", "__scn": True},
    ] and all({"__table", "__source_ts_ms"} <= record.headers.keys() for record in found)


def _ops(found: list[Read], key: Any) -> list[Any]:
    return [value and value["op"] for value in values(found, key)]


def _set(record: Read) -> dict[str, Any]:
    """Its headers, without those of the context."""
    return {name: value for name, value in record.headers.items() if not name.startswith("__debezium.context.")}


def _event(found: list[Read]) -> bool:
    return [(r.key, r.value, _set(r)) for r in found] == [
        ("100", {"status": "OPEN"}, {"id": "e-1", "eventType": "OrderOpened"})
    ]


ORDER = {"ORDER_ID": 100}
# The topic, without `topic.prefix`, and whether its records are those that the example promises.
PROMISES: dict[str, tuple[str, Callable[[list[Read]], bool]]] = {
    "unwrap": (".SHOP.ORDERS", _unwrapped),
    "logical-table": (
        ".all",
        lambda found: (
            _ops(found, {**ORDER, "table": "ORDERS"}) == ["c", "u", "d", None]
            and _ops(found, {"CUSTOMER_ID": 100, "table": "CUSTOMERS"}) == ["c"]
        ),
    ),
    "regex-router": ("-ORDERS", lambda found: _ops(found, ORDER) == ["c", "u", "d", None]),
    "filter": (".SHOP.ORDERS", lambda found: _ops(found, ORDER) == ["c"]),
    "content-router": (".SHOP.ORDERS.SENT", lambda found: _ops(found, ORDER) == ["u"]),
    "outbox": ("", _event),
    "fields": (
        ".SHOP.CUSTOMERS",
        lambda found: (
            [{k: v for k, v in value.items() if k != "topic"} for value in values(found, {"CUSTOMER_ID": 100})]
            == [{"id": "100", "name": "****", "origin": "shop"}]
        ),
    ),
    "keys": (
        ".SHOP.ORDERS",
        lambda found: [v["__deleted"] for v in values(found, 1) if v["ORDER_ID"] == 100] == ["false", "false", "true"],
    ),
    "headers": (
        ".SHOP.ORDERS",
        lambda found: (
            [value and value["__CHANGED"] for value in values(found, ORDER)] == [[], ["STATUS"], None]
            and all(_set(record) == {"order": str(record.key["ORDER_ID"])} for record in found)
        ),
    ),
    "times": (
        ".SHOP.ORDERS",
        lambda found: (
            [value and value["event"]["op"] for value in values(found, ORDER)] == ["c", "u", "d", None]
            and all(v["event"]["source_ts_ms"].endswith("Z") for v in values(found, ORDER) if v)
        ),
    ),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_keeps_its_promise(
    path: Path, shop: SandboxProcess, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"transforms-{path.stem}"
    given = {
        "MINERCDC_PASSWORD": "minercdc",
        "MINERCDC_NAME": name,
        "MINERCDC_TOPIC_PREFIX": name,
        "MINERCDC_DATABASE_HOSTNAME": shop.host,
        "MINERCDC_DATABASE_PORT": str(shop.port),
        "MINERCDC_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "MINERCDC_STATE_DIR": str(tmp_path / "state"),
        "MINERCDC_POLL_INTERVAL_MS": "100",
    }
    for variable, value in given.items():
        monkeypatch.setenv(variable, value)
    topics, (suffix, holds) = Topics(broker.bootstrap_servers, name), PROMISES[path.stem]
    topic = "event.order" if path.stem == "outbox" else name + suffix
    with MinerCdc(["run", "--log-interval", "0.1", str(path)], tmp_path / "run.log") as connector:
        connector.await_log("streaming: ")
        try:
            change(shop, *CHANGES)
            topics.await_records(topic, holds)
        finally:
            change(shop, *UNDO)
        connector.stop_in_order()
    # What is routed is in its own topic only.
    if suffix != ".SHOP.ORDERS":
        left = [] if path.stem == "content-router" else topics.records(f"{name}.SHOP.ORDERS")
        assert not left


def test_the_examples_show_every_transformation_and_predicate() -> None:
    used = {value.split("$")[0] for path in EXAMPLES for value in read_file(path).values.values()}
    assert {name.split("$")[0] for name in (*TRANSFORMATIONS, *PREDICATES)} <= used
    assert {path.stem for path in EXAMPLES} == PROMISES.keys()


def test_a_row_that_does_not_fit_suspends_its_table_alone(lab: Lab) -> None:
    lab.execute(
        "CREATE TABLE U (ID NUMBER(9) PRIMARY KEY, V VARCHAR2(40))", "ALTER TABLE U ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"
    )
    cast = {"transforms": "number", "transforms.number.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    cast |= {"transforms.number.spec": "V:int32", "transforms.number.predicate": "t", "predicates": "u,t"}
    unwrap = {"transforms": "row,number", "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState"}
    names = {one: f".*[.]{one.upper()}" for one in ("u", "t")}
    matches = {f"predicates.{one}.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches" for one in names}
    matches |= {f"predicates.{one}.pattern": pattern for one, pattern in names.items()}
    config = lab.config(
        **{**cast, **unwrap, **matches, "snapshot.mode": "no_data", "minercdc.dead.letter.topic": f"{lab.name}-dead"}
    )
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        lab.execute("INSERT INTO T VALUES (10, '1')", "INSERT INTO T VALUES (11, 'x')", "INSERT INTO T VALUES (12, '2')")
        lab.execute("INSERT INTO U VALUES (10, 'u')")
        lab.topics.await_records(lab.topic("U"), 1)
        dead = lab.topics.await_records(f"{lab.name}-dead", 2)
        connector.stop_in_order()
    assert [record.value["V"] for record in lab.topics.records(lab.topic("T"))] == [1]
    assert dead[0].value["error"].startswith("MC-4201: transforms.number: V: x cannot be cast to int32 (table ")
    assert f"{lab.schema}.T IS SUSPENDED" in connector.story()
