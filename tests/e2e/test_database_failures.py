"""A database that refuses or goes away: what does not pass ends in one message, what does is waited for."""

from __future__ import annotations

import pytest
from tests.e2e.connector import Ended
from tests.e2e.lab import Lab
from tests.e2e.proxy import Proxy

from minercdc.local.ports import free_port


def one_message(ended: Ended, status: int, *parts: str) -> None:
    assert ended.status == status, ended.errors
    assert "Traceback" not in ended.errors
    message = ended.message()
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_wrong_password_is_tried_once(lab: Lab, command: str) -> None:
    config = lab.config(database_password="wrong")
    ended = lab.minercdc(command, str(config))
    one_message(ended, 1, "MC-3001", "ORA-01017", "C##MINERCDC", f"{lab.server.host}:{lab.server.port}/ORCLCDB")
    assert "database.password" in ended.message()
    assert "going on from the last offset" not in ended.errors  # another try could lock the account
    assert "wrong" not in ended.errors


def test_a_locked_account_is_not_waited_for(lab: Lab) -> None:
    with lab.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {lab.schema}L IDENTIFIED BY x")
        cursor.execute(f"GRANT CREATE SESSION TO {lab.schema}L")
        cursor.execute(f"ALTER USER {lab.schema}L ACCOUNT LOCK")
    config = lab.config(
        database_user=f"{lab.schema}L", database_password="x", database_dbname="ORCLPDB1", database_pdb_name="ORCLPDB1"
    )
    one_message(lab.run_to_end(config), 1, "ORA-28000", f"{lab.schema}L", "ACCOUNT UNLOCK")


def test_a_user_without_create_session_gets_the_grant_to_make(lab: Lab) -> None:
    with lab.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {lab.schema}N IDENTIFIED BY x")
    config = lab.config(database_user=f"{lab.schema}N", database_password="x", database_dbname="ORCLPDB1")
    one_message(lab.run_to_end(config), 3, "ORA-01045", f"{lab.schema}N", "Grant CREATE SESSION")


def test_an_unknown_service_is_named_and_waited_for(lab: Lab) -> None:
    # a starting instance registers its services late, so this may pass by itself
    with lab.run(lab.config(database_dbname="NOSUCH")) as connector:
        warning = connector.await_log(r"WARNING .*NOSUCH.*going on from the last offset in")
        assert "Traceback" not in warning.string
        connector.await_log(r"(?s)(WARNING .*hint: [^\n]*database\.dbname.*){2}")
        connector.stop_in_order()


def test_errors_max_retries_ends_the_waiting(lab: Lab) -> None:
    config = lab.config(database_port=free_port(), errors_max_retries=1, retriable_restart_connector_wait_ms=10)
    ended = lab.run_to_end(config)
    one_message(ended, 1, "MC-3101", "connecting to 127.0.0.1:")
    assert ended.errors.count("going on from the last offset") == 1


def test_an_unreachable_host_is_retried_with_back_off(lab: Lab) -> None:
    port = free_port()
    with lab.run(lab.config(database_port=port)) as connector:
        connector.await_log(rf"(?s)127\.0\.0\.1:{port}.*last offset in 0\.1 s.*last offset in 0\.2 s")
        connector.await_log(r"reconnecting:")
        connector.stop_in_order()


def test_a_database_that_comes_up_later_is_found(lab: Lab) -> None:
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        proxy.refuse()
        with lab.run(lab.config(database_port=proxy.port)) as connector:
            connector.await_log("going on from the last offset")
            proxy.accept()
            connector.await_log("streaming:")
            lab.topics.await_records(lab.topic(), 3)
            connector.stop_in_order()


@pytest.mark.parametrize(("how", "times"), [("drop", 3), ("freeze", 1)])
def test_a_lost_connection_is_made_again_and_nothing_is_lost(lab: Lab, how: str, times: int) -> None:
    numbers = range(10, 10 + times)
    with Proxy((lab.server.host, lab.server.port)) as proxy:
        config = lab.config(database_port=proxy.port, database_query_timeout_ms=1500, database_connection_timeout_ms=1500)
        with lab.run(config) as connector:
            connector.await_log("streaming:")
            for number in numbers:
                lab.execute(f"INSERT INTO T VALUES ({number}, 'before')")
                if how == "drop":
                    proxy.drop()
                else:
                    proxy.freeze()
                lab.execute(f"UPDATE T SET V = 'after' WHERE ID = {number}")
                if how == "freeze":
                    connector.await_log("going on from the last offset")
                    proxy.accept()
            expected = 3 + 2 * times
            records = lab.topics.await_records(lab.topic(), expected)
            connector.stop_in_order()
    assert len(records) == expected
    by_key = [(r.key["ID"], r.value["op"]) for r in records[3:]]
    assert by_key == [(number, op) for number in numbers for op in ("c", "u")]
    assert "Traceback" not in connector.text()
