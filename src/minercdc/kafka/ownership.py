"""Which process a connector's name belongs to: the one that claimed it last.

Kafka fences a producer when another one with the same transactional id starts. That alone does not show a process whether it was
replaced:

* librdkafka may report a fence as a general fatal error;
* a broker also fences a producer whose transaction timed out while the process was stopped;
* a replaced process that starts a new producer would fence its successor.

So each process writes a claim into the offset topic before its first `init_transactions`:

    new process    claim -> init_transactions (fences the old producer) -> is the claim still mine? -> offset -> work
    old process    fenced, restarting or idle -> is the claim still mine?   no: FencedError, it ends   yes: restart with a new producer

A claim is not part of a Kafka transaction: a reader need not wait for undecided ones. When two processes start at the same
time, the later claim wins, and the other process ends.
"""

from __future__ import annotations

import logging
from uuid import uuid4

from minercdc.errors import FencedError
from minercdc.kafka.client import KafkaClient

_log = logging.getLogger(__name__)


class Ownership:
    """The claim of this process; one object for all restarts within it.

    :param name: of the connector.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._key = f"{name}/owner".encode()
        self._id = uuid4().hex.encode()
        self._claimed = False
        self._owner = b""
        self._read_to = 0

    def claim(self, client: KafkaClient, topic: str) -> None:
        """Claim the name at the first call; later calls, after restarts within the process, only check the claim.

        :param topic: of offsets; it must exist.
        :raises FencedError: another process has claimed the name since.
        :raises DeliveryError, SinkError: Kafka cannot be used.
        """
        if not self._claimed:
            client.produce(topic, self._key, self._id)
            self._claimed = True
        self.check(client, topic)

    def check(self, client: KafkaClient, topic: str) -> None:
        """Read the claims that were written since the last call, to see whether the last one is ours.

        :raises FencedError: another process has claimed the name since, or this one never has.
        :raises DeliveryError, SinkError: Kafka cannot be read.
        """
        for message in client.read_since(topic, self._read_to):
            self._read_to = message.offset() + 1
            if message.key() == self._key:
                self._owner = message.value()
        if self._owner != self._id:
            raise FencedError(
                f"another instance of connector {self._name} has taken over",
                hint="Run one instance per connector name; this one stops.",
            )
