"""`minercdc offsets`: what is shown is what is stored, and a connector goes on from where its offset was moved to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.e2e.connector import Ended
from tests.e2e.lab import WITH_ROWS, Lab
from tests.e2e.sinks import await_written, sink_config, written
from tests.fixtures.fix_sandbox import SandboxProcess

from minercdc.local.kafka_broker import KafkaBroker

KINDS = ("kafka", "segments", "json")


class Subject:
    """A connector with one of the sinks, started and stopped."""

    def __init__(self, lab: Lab, kind: str) -> None:
        self.lab = lab
        self._kind = kind
        self._runs = 0
        self.config, self._path = (lab.config(), Path()) if kind == "kafka" else sink_config(lab, kind)

    def until(self, count: int) -> list[tuple[str, Any, Any]]:
        """Run it until there are so many records of T, and stop it; all of them."""
        self._runs += 1
        with self.lab.run(self.config, log=f"run{self._runs}.log") as connector:
            connector.await_log("streaming: ")
            if self._kind == "kafka":
                self.lab.topics.await_records(self.lab.topic(), count)
            else:
                await_written(self._kind, self._path, lambda seen: len(self._of_table(seen)) >= count)
            connector.stop_in_order()
        return self.records()

    def records(self) -> list[tuple[str, Any, Any]]:
        """(op, key, row) of each record of T so far."""
        if self._kind == "kafka":
            found = [(one.key, one.value) for one in self.lab.topics.records(self.lab.topic())]
        else:
            found = [
                (json.loads(one.key() or b"null"), json.loads(one.value() or b"null"))
                for one in self._of_table(written(self._kind, self._path))
            ]
        return [(value["op"], key, value["after"]) for key, value in found if value is not None]

    def _of_table(self, seen: list[Any]) -> list[Any]:
        return [one for one in seen if one.topic() == self.lab.topic()]

    def offsets(self, command: str, *arguments: str, status: int = 0) -> Ended:
        ended = self.lab.minercdc("offsets", command, str(self.config), *arguments)
        assert ended.status == status, ended.errors
        return ended

    def scn(self) -> int:
        with closing(self.lab.server.connect(service=self.lab.server.root_service)) as admin, admin.cursor() as cursor:
            cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE")
            row = cursor.fetchone()
        assert row is not None
        return int(row[0])


@pytest.fixture(params=KINDS)
def each_sink(request: pytest.FixtureRequest, make_lab: Callable[..., Lab]) -> Subject:
    kind = request.param
    return Subject(make_lab(request.getfixturevalue("broker").bootstrap_servers if kind == "kafka" else ""), kind)


def test_back_before_a_change_of_columns_the_same_is_delivered_again(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.until(3)
    scn = subject.scn()
    lab.execute("INSERT INTO T VALUES (10, 'old shape')", "UPDATE T SET V = 'older' WHERE ID = 1")
    lab.execute("ALTER TABLE T ADD (W NUMBER(5))")
    lab.execute("INSERT INTO T VALUES (11, 'new shape', 7)")
    first = subject.until(6)
    assert "Nothing is stored yet" in subject.offsets("set", "--scn", str(scn)).output
    assert subject.until(6) == first, "it was only shown"
    said = subject.offsets("set", "--scn", str(scn), "--yes").output
    assert f"goes on after SCN {scn}" in said
    assert "delivered again: changes committed after" in said
    assert subject.until(9) == [*first, *first[3:]]
    assert subject.until(9) == [*first, *first[3:]], "and once only"


def test_forward_what_lies_between_is_never_delivered(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.until(3)
    lab.execute("INSERT INTO T VALUES (10, 'skipped')", "ALTER TABLE T ADD (W NUMBER(5))")
    lab.execute("INSERT INTO T VALUES (11, 'skipped', 1)")
    scn = subject.scn()
    lab.execute("INSERT INTO T VALUES (12, 'delivered', 2)")
    assert "NEVER delivered: changes committed after" in subject.offsets("set", "--scn", str(scn), "--yes").output
    assert subject.until(4)[3:] == [("c", {"ID": 12}, {"ID": 12, "V": "delivered", "W": 2})]


def test_an_exported_offset_comes_back(each_sink: Subject) -> None:
    subject, lab = each_sink, each_sink.lab
    subject.until(3)
    lab.execute("ALTER TABLE T ADD (W NUMBER(5))")
    lab.execute("INSERT INTO T VALUES (10, 'x', 1)")
    subject.until(4)
    exported = subject.offsets("export").output
    file = lab.directory / "exported.json"
    file.write_text(exported)
    assert subject.offsets("export").output == exported, "without a time of its own"
    assert "Nothing is removed yet" in subject.offsets("reset").output
    removed = subject.offsets("reset", "--yes").output
    assert "it is removed" in removed
    assert re.search(r"removed; start it with: .*\bminercdc run ", removed)
    assert "has no offset" in subject.offsets("show").output
    lab.execute("ALTER TABLE T DROP COLUMN W", "INSERT INTO T VALUES (11, 'y')")
    assert "Nothing is stored yet" in subject.offsets("import", str(file)).output
    subject.offsets("import", "--yes", str(file))
    assert subject.offsets("export").output == exported
    assert subject.until(5)[4:] == [("c", {"ID": 11}, {"ID": 11, "V": "y"})]


def test_without_an_offset_the_snapshot_is_taken_again(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    first = subject.until(3)
    subject.offsets("reset", "--yes")
    assert subject.until(6) == [*first, *first]
    assert [op for op, _, _ in first] == ["r"] * 3


def test_signals_of_the_topic_that_come_again_are_counted(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.config = lab.config(signal_enabled_channels="kafka", signal_poll_interval_ms=200)
    with lab.run(subject.config) as connector:
        connector.await_log("streaming: ")
        assert "signals:" not in subject.offsets("reset").output, "none was read"
        for message in ("first", "second"):
            lab.minercdc("signal", str(subject.config), "log", message)
        lab.minercdc("signal", str(subject.config), "pause-snapshot")
        connector.await_log(r"\(pause-snapshot\) is refused")
        lab.insert(10, 1)
        lab.topics.await_records(lab.topic(), 4)
        connector.stop_in_order()
    lab.minercdc("signal", str(subject.config), "log", "third")
    shown = subject.offsets("reset").output
    assert f"topic {lab.name}-signal is read from its beginning" in shown
    assert "executed AGAIN: 3 that it has read before: 2 log, 1 pause-snapshot" in shown
    assert f"partition 0 of {lab.name}-signal before offset 3 (kafka-delete-records.sh)" in shown
    kafka = AdminClient({"bootstrap.servers": lab.brokers})
    kafka.delete_records([TopicPartition(f"{lab.name}-signal", 0, 3)])[TopicPartition(f"{lab.name}-signal", 0)].result()
    assert "signals:" not in subject.offsets("reset", "--yes").output
    with lab.run(subject.config, log="again.log") as connector:
        connector.await_log("third")
        connector.stop_in_order()
    assert "second" not in connector.text()


@pytest.mark.parametrize("adapter", ["logminer", "flashback"])
def test_a_database_that_was_created_again_is_not_streamed_from(
    make_lab: Callable[..., Lab], fresh_sandbox: SandboxProcess, adapter: str
) -> None:
    lab = make_lab("")
    with lab.server.connect(service=lab.server.root_service) as admin, admin.cursor() as cursor:
        for _ in range(2000):  # each moves the SCN on
            cursor.execute("SELECT CURRENT_SCN FROM V$DATABASE")
    changes = {"database_connection_adapter": adapter}
    config, _ = sink_config(lab, "json", **changes)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin, admin.cursor() as cursor:
        cursor.execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    fresh_sandbox.create_user(lab.schema)
    Lab(fresh_sandbox, "", lab.schema, lab.directory).execute(*WITH_ROWS)
    config, _ = sink_config(lab, "json", database_port=fresh_sandbox.port, **changes)
    ended = lab.run_to_end(config, log="second.log")
    assert (ended.status, "MC-3301" in ended.message(), "minercdc offsets reset" in ended.message()) == (1, True, True)
    problem = "it is another database, or was restored or created again"
    for command in (["check"], ["plan"], ["offsets", "show"]):
        said = lab.minercdc(*command, str(config))
        assert problem in said.output, said.errors
    assert " was at a time that is not known; now is SCN " in said.output
    config, _ = sink_config(lab, "json", database_port=fresh_sandbox.port, snapshot_mode="when_needed", **changes)
    with lab.run(config, log="needed.log") as connector:
        connector.await_log("a new snapshot is taken")
        connector.await_log("streaming: ")
        connector.stop_in_order()


@pytest.mark.parametrize(("adapter", "under_way"), [("flashback", False), ("logminer", True)])
def test_an_offset_or_a_snapshot_of_another_database_does_not_go_on(lab: Lab, adapter: str, under_way: bool) -> None:
    config, path = sink_config(lab, "json", database_connection_adapter=adapter)
    with lab.run(config) as connector:
        connector.await_log("streaming: ")
        connector.stop_in_order()
    file = path.with_name(f"{path.name}.offset")
    stored = json.loads(file.read_text())
    offset = json.loads(stored["offset"])
    offset["position"]["dbid"] = "1"
    if under_way:
        left = {
            "table": f"{lab.schema}.T",
            "rows": 0,
            "expected_rows": None,
            "deferred": False,
            "chunks": [[None, None, None, False]],
        }
        offset["snapshot"] = {"scn": "5", "completed": False, "start": offset["position"], "tables": [left]}
        offset["position"] = None
    file.write_text(json.dumps({**stored, "offset": json.dumps(offset)}))
    before = path.read_bytes()
    ended = lab.run_to_end(config, log="second.log")
    problem = "the stored position belongs to the database with DBID 1"
    assert (ended.status, "MC-3301" in ended.message(), problem in ended.message()) == (1, True, True)
    assert path.read_bytes() == before
    for command in (["check"], ["plan"], ["offsets", "show"]):
        assert problem in lab.minercdc(*command, str(config)).output


def test_what_is_stored_is_shown(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    assert "has no offset" in subject.offsets("show").output
    subject.until(3)
    shown = subject.offsets("show").output
    assert f"connector {lab.name}, topic.prefix {lab.name}" in shown
    for line in (
        r"adapter: logminer",
        "delivered up to: SCN ",
        "all redo that is needed exists",
        "schema history: 1 tables",
    ):
        assert line in shown
    document = json.loads(subject.offsets("show", "--json").output)
    assert (document["connector"], document["stored"], document["adapter"]) == (lab.name, True, "logminer")
    moved = json.loads(subject.offsets("reset", "--json").output)
    assert (moved["done"], bool(moved["lines"])) == (False, True)
    lab.execute("INSERT INTO T VALUES (10, 'x')")
    lab.purge_logs()
    assert "CANNOT GO ON" in subject.offsets("show").output


def test_a_running_connector_keeps_its_offset(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.until(3)
    file = lab.directory / "exported.json"
    file.write_text(subject.offsets("export").output)
    with lab.run(subject.config) as connector:
        connector.await_log("streaming: ")
        for command, *arguments in (("import", str(file)), ("set", "--scn", str(subject.scn())), ("reset",)):
            ended = subject.offsets(command, *arguments, "--yes", status=2)
            assert "is running; stop it first" in ended.errors
            assert ended.output == "", "nothing has happened"
        lab.execute("INSERT INTO T VALUES (10, 'x')")
        lab.topics.await_records(lab.topic(), 4)
        connector.stop_in_order()


WRONG: tuple[tuple[Callable[[str], str], str], ...] = (
    (lambda _: "no json", "is not an exported offset"),
    (lambda _: "[]", "is not an exported offset: an array stands where an object is needed"),
    (
        lambda text: text.replace('"connector"', '"conector"', 1),
        "is not an exported offset: the member connector is missing",
    ),
    (lambda text: text.replace('"adapter"', '"adaptor"', 1), "it has the member adaptor"),
    (
        lambda text: text.replace('"type": "CREATE"', '"table": []', 1).replace('"table": {', '"t": {', 1),
        "within the member tables[0], ",
    ),
    (lambda text: text.replace('"version": 1', '"version": 99', 1), "another release"),
    (lambda text: text.replace('"topic.prefix": "', '"topic.prefix": "other', 1), "is of topic.prefix other"),
    (lambda text: text.replace('"adapter": "logminer"', '"adapter": "flashback"', 1), "cannot continue from"),
    (lambda text: text.replace('"position": {', '"position": {"x": 1}, "was": {', 1), "it has the member was"),
    (
        lambda text: text.replace('"threads": {', '"thread": {', 1),
        "the stored offset is not a position of LogMiner: the member threads is missing",
    ),
)


def test_a_wrong_file_changes_nothing(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.until(3)
    exported = subject.offsets("export").output
    file = lab.directory / "wrong.json"
    for change, message in WRONG:
        file.write_text(change(exported))
        errors = subject.offsets("import", "--yes", str(file), status=2).errors
        assert message in errors
        assert "Error(" not in errors
    assert subject.offsets("export").output == exported


def test_places_that_cannot_be_gone_on_from(lab: Lab) -> None:
    subject = Subject(lab, "kafka")
    subject.until(3)
    scn = subject.scn()
    exported = subject.offsets("export").output
    assert "lies in the future" in subject.offsets("set", "--scn", str(scn + 10**6), "--yes", status=1).errors
    future = subject.offsets("set", "--time", "2099-01-01T00:00:00Z", "--yes", status=1)
    assert "2099-01-01T00:00:00Z lies in the future; the database's clock says " in future.errors
    assert "Give an earlier time." in future.errors
    assert "is not an ISO 8601 time" in subject.offsets("set", "--time", "yesterday", "--yes", status=2).errors
    lab.purge_logs()
    assert "neither online nor in the archive" in subject.offsets("set", "--scn", str(scn), "--yes", status=1).errors
    for command in (["check"], ["plan"], ["offsets", "show"]):
        said = lab.minercdc(*command, str(subject.config))
        assert "neither online nor in the archive" in said.output, said.output + said.errors
    assert subject.offsets("export").output == exported


def test_an_scn_before_all_redo_that_is_left_is_refused(
    make_lab: Callable[..., Lab], broker: KafkaBroker, fresh_sandbox: SandboxProcess
) -> None:
    """The thread was enabled after such an SCN, but its first logs are gone."""
    with fresh_sandbox.connect(service=fresh_sandbox.root_service) as admin:
        admin.cursor().execute("ALTER DATABASE ADD SUPPLEMENTAL LOG DATA")
    lab = make_lab(broker.bootstrap_servers, server=fresh_sandbox)
    subject = Subject(lab, "kafka")
    subject.until(3)
    assert "redo is read from" in subject.offsets("set", "--scn", "5", "--yes").output, "log 1 is there"
    stored = subject.offsets("export").output
    lab.purge_logs()
    for scn in ("1", "6", "1000000"):
        refused = subject.offsets("set", "--scn", scn, "--yes", status=1).errors
        assert "MC-3301" in refused
        assert "redo thread 1: redo up to log sequence " in refused
    assert subject.offsets("export").output == stored
    ended = lab.run_to_end(lab.config(log_mining_log_query_max_retries=1))
    assert (ended.status, ended.message()[:7]) == (1, "MC-3301"), ended.errors
    given = lab.config("given.yaml", name=f"{lab.name}-given", snapshot_mode="no_data", minercdc_start_scn=5)
    ended = lab.run_to_end(given, "given.log")
    assert (ended.status, ended.message()[:7]) == (1, "MC-3301"), ended.errors
    assert len(subject.records()) == 3
