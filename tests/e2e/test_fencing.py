"""An instance that was frozen while another one took over ends when it wakes up, and never ends its successor.

`MINERCDC_FREEZES` sets the number of rounds (20 in `make torture`), half of them under load with Kafka transactions of a few rows.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import ExitStack

import pytest
from tests.e2e.lab import Lab

ROUNDS = int(os.environ.get("MINERCDC_FREEZES", "2"))
LONGEST_SECONDS = 40 if ROUNDS > 2 else 4


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_frozen_instance_ends_when_it_wakes_up(lab: Lab, number: int) -> None:
    seconds, loaded = random.Random(number).uniform(2, LONGEST_SECONDS), number % 2 == 0
    config = lab.config(minercdc_kafka_transaction_max_records=3, minercdc_kafka_transaction_interval_ms=10)
    stop, written = threading.Event(), [0, 1, 2]

    def write() -> None:
        while not stop.is_set():
            lab.execute(f"INSERT INTO T VALUES ({len(written) + 100}, 'x')")
            written.append(len(written) + 100)
            time.sleep(0.02)

    writer = threading.Thread(target=write)
    with ExitStack() as processes:
        first = processes.enter_context(lab.run(config, log="first.log"))
        first.await_log("streaming:")
        if loaded:
            writer.start()
            first.await_log(r"streaming: \d\d+ events")
        first.process.send_signal(signal.SIGSTOP)
        try:
            second = processes.enter_context(lab.run(config, log="second.log"))
            second.await_log("streaming:")
            time.sleep(seconds)
        finally:
            first.process.send_signal(signal.SIGCONT)
        ended = first.await_end(40)
        stop.set()
        if loaded:
            writer.join()
        assert (ended.status, ended.message()[:7]) == (4, "MC-6201"), ended.errors
        lab.execute("INSERT INTO T VALUES (99, 'x')")
        records = lab.topics.await_records(lab.topic(), len(written) + 1)
        second.stop_in_order()
    assert [record.key["ID"] for record in records] == [*written, 99], "nothing is lost, and nothing comes twice"
