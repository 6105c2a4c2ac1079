"""One scenario for every database: snapshot, changes, restart, and topics that equal the table."""

from __future__ import annotations

import json

from tests.e2e.lab import Lab
from tests.kafka.consume import read_committed
from tests.torture.chain import Chain


def happy_path(lab: Lab, timeout: float) -> None:
    """On a lab with table T (ID, V) and rows 0, 1, 2.

    :param timeout: seconds for each wait; a real Oracle mines slower than the sandbox.
    """
    config = lab.config()
    checked = lab.minercdc("check", str(config))
    assert checked.status == 0, checked.output + checked.errors
    with lab.run(config, "first.log") as connector:
        connector.await_log("streaming:", timeout)
        lab.execute("INSERT INTO T VALUES (10, 'a')", "INSERT INTO T VALUES (11, NULL)", "UPDATE T SET V = 'b' WHERE ID < 2")
        with lab.connect() as connection:
            connection.cursor().execute("INSERT INTO T VALUES (12, 'rolled back')")
            connection.rollback()
        lab.execute("DELETE FROM T WHERE ID = 0", "UPDATE T SET ID = 20 WHERE ID = 10")
        lab.topics.await_records(lab.topic(), 3 + 4 + 5, timeout)
        connector.stop_in_order()
    lab.execute("INSERT INTO T VALUES (30, 'while it was away')")
    with lab.run(config, "second.log") as connector:
        lab.topics.await_records(lab.topic(), 3 + 4 + 5 + 1, timeout)
        connector.stop_in_order()
    chain = Chain().take(read_committed(lab.brokers, lab.topic()))
    with lab.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT ID, V FROM T")
        rows = {json.dumps({"ID": number}, separators=(",", ":")): {"ID": number, "V": text} for number, text in cursor}
    assert chain.breaks == []
    assert chain.differs_from(rows) == []
    assert chain.operations == {"r": 3, "c": 4, "u": 2, "d": 2}
