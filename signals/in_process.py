"""Channel in-process: a connector of this program's own, and every signal there is.

python signals/in_process.py CONFIG
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from minercdc import Connector, load_config

ORDERS = ["ORCLPDB1.SHOP.ORDERS"]
OPEN = "STATUS = 'OPEN'"
SHAPE = {
    "type": "ALTER",
    "id": '"ORCLPDB1"."SHOP"."ORDERS"',
    "table": {
        "primaryKeyColumnNames": ["ORDER_ID"],
        "columns": [
            {"name": "ORDER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": False},
            {"name": "CUSTOMER_ID", "typeName": "NUMBER", "length": 9, "scale": 0, "optional": False},
            {"name": "STATUS", "typeName": "VARCHAR2", "length": 10, "optional": True},
        ],
    },
}
SIGNALS: dict[str, tuple[str, dict[str, Any]]] = {
    "process-incremental": ("execute-snapshot", {"data-collections": ORDERS}),
    "process-some": (
        "execute-snapshot",
        {
            "data-collections": ["ORCLPDB1.SHOP.ORD.*"],
            "surrogate-key": "CUSTOMER_ID",
            "additional-conditions": [{"data-collection": ORDERS[0], "filter": OPEN}],
        },
    ),
    "process-pause": ("pause-snapshot", {}),
    "process-resume": ("resume-snapshot", {}),
    "process-stop": ("stop-snapshot", {"data-collections": ORDERS}),
    "process-blocking": (
        "execute-snapshot",
        {
            "data-collections": ORDERS,
            "type": "blocking",
            "additional-conditions": [{"data-collection": ORDERS[0], "filter": f"SELECT * FROM SHOP.ORDERS WHERE {OPEN}"}],
        },
    ),
    "process-log": ("log", {"message": "Signal message at offset {}"}),
    "process-schema": ("schema-changes", {"changes": [SHAPE]}),
    "process-suspended": ("resume-table", {"data-collections": ORDERS}),
    "process-list": ("list-transactions", {}),
    "process-drop": ("drop-transaction", {"transaction-id": "02000a00b2040000"}),
}


def main(config: Path, seconds: float = 60.0) -> dict[str, str]:
    """Send all signals, and wait for their answers: id -> COMPLETED, ABORTED or REFUSED."""
    connector, stop = Connector(load_config(config)), threading.Event()
    running = threading.Thread(target=connector.run, args=(stop,))
    running.start()
    try:
        for identity, (kind, data) in SIGNALS.items():
            connector.signal(kind, data, id=identity)
        answers: dict[str, str] = {}
        deadline = time.monotonic() + seconds
        while set(answers) != set(SIGNALS) and running.is_alive() and time.monotonic() < deadline:
            time.sleep(0.1)
            for notification in connector.notifications():
                if (
                    isinstance(notification, dict)
                    and notification["aggregate_type"] == "Signal"
                    and notification["type"] != "ACCEPTED"
                ):
                    answers[str(notification["id"])] = str(notification["type"])
        return answers
    finally:
        stop.set()
        running.join()


if __name__ == "__main__":
    for signal_id, answer in main(Path(sys.argv[1])).items():
        print(signal_id, answer)
