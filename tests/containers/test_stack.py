"""`docker compose up` with the sandbox and our own broker, as a user has it: published ports, logs, kills, the lake."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.request import urlopen

import oracledb
import pytest
from tests.containers.engine import install
from tests.containers.lake import LakeReader
from tests.containers.stack import SERVICES, Stack, await_true, compose_program
from tests.containers.standbys import two_instances
from tests.containers.workers import container_cluster
from tests.containers.writing import LOGGED, TABLE, Writer
from tests.kafka.consume import read_committed
from tests.torture.chain import Chain

pytestmark = pytest.mark.timeout(1800)

_firsts = count(0, 1_000_000)  # keys of one writer are below those of the next


@pytest.fixture(scope="module")
def stack(images: None, request: pytest.FixtureRequest) -> Iterator[Stack]:
    if compose_program() is None:
        if not request.config.getoption("--start-engine"):
            pytest.skip("neither docker compose nor docker-compose is installed")
        install(["docker-compose"])
    with Stack() as made:
        with made.connect() as connection, connection.cursor() as cursor:
            cursor.execute(TABLE)  # after the snapshot: streaming finds it
            cursor.execute(LOGGED)
        yield made
    assert made.left() == ""


@pytest.fixture(scope="module")
def lake(stack: Stack) -> Iterator[LakeReader]:
    with LakeReader(stack) as reader:
        yield reader


def writer(stack: Stack) -> Writer:
    return Writer(stack.connect, next(_firsts))


def await_written(writing: Writer, more: int) -> None:
    target = writing.transactions + more
    await_true(f"{more} more transactions", lambda: writing.transactions >= target)


def topic(stack: Stack) -> Chain:
    return Chain().take(read_committed(stack.brokers, "shop.SHOP.PARCELS"))


def table_keys(stack: Stack) -> set[str]:
    with stack.connect() as connection, connection.cursor() as cursor:
        return {f'{{"ID":{key}}}' for (key,) in cursor.execute("SELECT ID FROM PARCELS")}


def assert_topic_is_the_table(stack: Stack) -> None:
    """No change of a parcel is lost, repeated or out of order, and what they add up to are the table's keys."""
    await_true("the topic is the table", lambda: topic(stack).rows.keys() == table_keys(stack))
    assert topic(stack).breaks == []


def test_services_run_without_rights(stack: Stack) -> None:
    for service in SERVICES:
        found = stack.inspect(service)
        assert found["HostConfig"]["ReadonlyRootfs"], service
        assert not found["HostConfig"]["Privileged"], service
        program = "import os, pathlib; print(os.getuid()); pathlib.Path('/opt/minercdc/written').touch()"
        seen = stack.execute(service, "python", "-c", f"try:\n exec({program!r})\nexcept OSError as e: print(e.strerror)")
        assert seen.split("\n")[:2] == ["10001", "Read-only file system"], service


def test_rows_of_the_published_port_reach_topic_and_lake(stack: Stack, lake: LakeReader) -> None:
    with stack.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO ORDERS VALUES (13, 1, 'OPEN')")
        cursor.execute("UPDATE CUSTOMERS SET NAME = 'Edsger' WHERE CUSTOMER_ID = 1")
        connection.commit()
    with writer(stack) as writing:
        await_written(writing, 100)
    assert lake.await_equal() > 50
    assert_topic_is_the_table(stack)
    orders = read_committed(stack.brokers, "shop.SHOP.ORDERS")
    assert [message.key() for message in orders] == [f'{{"ORDER_ID":{key}}}'.encode() for key in (10, 11, 12, 13)]


def test_every_log_says_what_to_do_next(stack: Stack, lake: LakeReader) -> None:
    def line(service: str, start: str) -> str:
        said = stack.log(service)  # of now: the lake is healthy before it has topics to speak of
        match = re.search(rf"(?m)(?:^|INFO +){start}: (.*)$", said)
        assert match, f"{start} in {said}"
        return match[1]

    with eval(line("sandbox", "connect"), {"oracledb": oracledb}) as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM SHOP.CUSTOMERS").fetchone() == (2,)
    assert f"outside of its network bootstrap.servers={stack.brokers}" in line("kafka", "connect")
    assert "topics shop.<SCHEMA>.<TABLE> at bootstrap.servers=kafka:9092" in line("connector-sandbox", "records")
    status = line("connector-sandbox", "status")
    checked = re.search(r"curl (\S+)", status)
    assert checked
    with urlopen(checked[1]) as answer:
        assert answer.status == 200
    token = re.search(r"the text of (\S+)\)", status)
    assert token
    assert len(stack.execute("connector-sandbox", "cat", token[1]).strip()) > 20
    signal = line("connector-sandbox", "read tables again").replace("SCHEMA.TABLE", "SHOP.ORDERS")
    assert "Signal COMPLETED" in stack.execute("connector-sandbox", *shlex.split(signal))
    lake.await_equal()
    assert "at /var/lib/lake/<SCHEMA>/<TABLE>" in line("lake-sandbox", "tables")
    shown = shlex.split(line("lake-sandbox", "print one").replace("<SCHEMA>.<TABLE>", "SHOP.ORDERS"))
    assert re.search(r"\b12\s+2\s+OPEN\b", stack.execute("lake-sandbox", *shown))


def test_what_is_killed_under_writes_loses_and_repeats_nothing(stack: Stack, lake: LakeReader) -> None:
    connector, stream = "connector-sandbox", "lake-sandbox"
    with writer(stack) as writing:
        await_written(writing, 30)
        restarts = stack.inspect(connector)["RestartCount"]
        stack.crash(connector)
        await_true("the restart policy acts", lambda: stack.inspect(connector)["RestartCount"] > restarts)
        stack.await_healthy(connector)
        await_written(writing, 30)
        for service in (connector, stream):
            stack.kill(service)
            assert stack.inspect(service)["State"]["Status"] == "exited"
        await_written(writing, 30)
        for service in (connector, stream):
            stack.start(service)
            stack.await_healthy(service)
        await_written(writing, 30)
    lake.await_equal()
    assert_topic_is_the_table(stack)


@pytest.mark.skipif("MINERCDC_CLUSTER" not in os.environ, reason="ten Java processes for minutes (make cluster)")
def test_a_lake_loses_nothing_when_workers_are_killed_in_the_middle_of_a_task(stack: Stack, tmp_path: Path) -> None:
    """Two, one after the other. Executors of `lake verify` read Oracle from the others, in Python."""
    stack.compose("stop", "lake-sandbox")  # the cores are the cluster's
    with container_cluster(stack, tmp_path) as cluster:
        cluster.start_lake()
        with writer(stack) as writing:
            cluster.await_merge(0)
            cluster.kill_working()
            before = stack.scn()
            await_written(writing, 30)
            cluster.await_merge(before)
            cluster.add_worker()
            cluster.kill_working()
        last = stack.scn()
        with stack.connect() as connection, connection.cursor() as cursor:
            cursor.execute("UPDATE CUSTOMERS SET NAME = 'Barbara' WHERE CUSTOMER_ID = 1")
            connection.commit()
        cluster.await_merge(last)
        assert cluster.stop_lake() == 0, cluster.log()
        verified = cluster.verify()
        assert re.search(r"(?m)^verified: [1-9]\d* tables, [1-9]\d* rows, 0 differences$", verified), verified
    stack.up("lake-sandbox")


def test_an_instance_whose_network_is_cut_is_replaced_and_becomes_a_standby(stack: Stack) -> None:
    stack.compose("stop", "connector-sandbox")
    with two_instances(stack) as (owner, standby):
        with writer(stack) as writing:
            for _ in range(2):
                await_written(writing, 30)
                owner.cut()
                standby.await_new("taking over connector")
                standby.await_new("streaming: ")
                await_written(writing, 30)
                owner.join()
                owner.await_new("this one is a standby again")
                owner, standby = standby, owner
        assert_topic_is_the_table(stack)
    stack.up("connector-sandbox")


def test_down_and_up_again_goes_on(stack: Stack) -> None:
    """Volumes hold what the connector's position speaks of."""
    stack.down()
    stack.up("connector-sandbox")
    with writer(stack) as writing:
        await_written(writing, 30)
    assert_topic_is_the_table(stack)
