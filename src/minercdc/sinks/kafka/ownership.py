"""The owner of a connector's name: the process that claimed it last.

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

A claim also says where a standby sees its owner: in the consumer group of the connector, and by its HTTP port.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from uuid import uuid4

from minercdc.errors import FencedError
from minercdc.sinks.kafka.client import KafkaClient

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process writes when it claims a name.

    :param instance: identity of the process; another one after each time it was fenced.
    :param member: it is going to be a member of the connector's consumer group.
    :param host, port: of its HTTP port; '' and 0 without one.
    """

    instance: str
    member: bool = False
    host: str = ""
    port: int = 0

    def to_bytes(self) -> bytes:
        """The claim as the JSON that is stored."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()


def claim_key(name: str) -> bytes:
    """Key of the claims of a connector, in the topic of offsets."""
    return f"{name}/owner".encode()


def claim_from_bytes(value: bytes | None) -> Claim | None:
    """The claim that a process wrote, of an earlier version, too: those wrote their identity alone. None for a tombstone."""
    if value is None:
        return None
    try:
        document = json.loads(value)
        return Claim(
            str(document["instance"]),
            document.get("member") is True,
            str(document.get("host", "")),
            int(document.get("port", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Claim(value.decode(errors="replace"))


class Ownership:
    """The claim of this process; one object for all restarts within it, until it is fenced.

    :param name: of the connector.
    :param member: see `Claim`.
    :ivar instance: identity of this process, 32 hex digits.
    :ivar address: host and HTTP port for the claim; None without a port.
    :ivar topic: of offsets, once the name is claimed; '' before.
    """

    def __init__(self, name: str, *, member: bool = False) -> None:
        self.name = name
        self.instance = uuid4().hex
        self.address: tuple[str, int] | None = None
        self.topic = ""
        self._key = claim_key(name)
        self._member = member
        self._owner = ""
        self._read_to = 0

    def claim(self, client: KafkaClient, topic: str) -> None:
        """Claim the name at the first call, and check the claim at each; later calls come after restarts within the process.

        :param topic: of offsets; it must exist.
        :raises FencedError: another process has claimed the name since.
        :raises DeliveryError, SinkError: Kafka cannot be used.
        """
        if not self.topic:
            self._write(client, topic)
            self.topic = topic
        self.check(client, topic)

    def _write(self, client: KafkaClient, topic: str) -> None:
        host, port = self.address or ("", 0)
        client.produce(topic, self._key, Claim(self.instance, self._member, host, port).to_bytes())

    def check(self, client: KafkaClient, topic: str) -> None:
        """Read the claims that were written since the last call, to see whether the last one is ours.

        :raises FencedError: another process has claimed the name since, or this one never has.
        :raises DeliveryError, SinkError: Kafka cannot be read.
        """
        for message in client.read_since(topic, self._read_to):
            self._read_to = message.offset() + 1
            if message.key() == self._key:
                claim = claim_from_bytes(message.value())
                self._owner = claim.instance if claim else ""
        if self._owner != self.instance:
            raise FencedError(
                f"another instance of connector {self.name} has taken over",
                hint="Run one instance per connector name, or the others with --standby; this one stops.",
            )
