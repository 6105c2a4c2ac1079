"""What the pipelines of one process share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from minercdc.config.load import ConnectorConfig
from minercdc.messages.record_encoder import RecordStages
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.notifications.posting import Posting
from minercdc.pipeline.pipeline import Target
from minercdc.pipeline.standby.prepared import Prepared
from minercdc.signals.channels import SignalChannel
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.snapshot.initial.mode import Decision
from minercdc.stream.counters.connector import Counters
from minercdc.stream.offset import Offset


@dataclass(frozen=True, slots=True)
class Instance:
    """A process that has a connector, as others see it.

    :param counters: what it has done so far.
    :param watch: receives its notifications and the state of its signals.
    :param posting: where its notifications go.
    :param ownership: its claim of the connector's name.
    :param channels: channels of signals that it keeps.
    :param prepared: what was made ready while it was a standby; None: nothing ever is.
    """

    counters: Counters
    watch: Watch
    posting: Posting
    ownership: Ownership
    channels: Sequence[SignalChannel] = ()
    prepared: Prepared | None = None

    @classmethod
    def of(cls, config: ConnectorConfig, counters: Counters | None = None) -> Self:
        """A new instance, whose notifications go to its watch, and to the log where that is enabled.

        :param counters: None for new ones.
        """
        counted = counters or Counters()
        watch, identity = Watch(counted), config.identity
        posting = Posting(config.notifications, identity.topic_prefix, watch)
        return cls(counted, watch, posting, Ownership(identity.name))


class ProcessState:
    """State that the pipelines of one process share: the database is checked, and `snapshot.mode=always` applies, once only.

    :param decide: what `snapshot.mode` does at a start.
    :param instance: the process, as others see it.
    :param stages: what becomes of printed records.
    :param target: where events go instead of the configured sink; None: to that sink.
    :ivar first_offset: the offset found at the start; one that differs was committed by this process.
    :ivar checked: the database is checked.
    """

    def __init__(self, decide: Decision, instance: Instance, stages: RecordStages, target: Target | None = None) -> None:
        self.decide = decide
        self.instance = instance
        self.stages = stages
        self.target = target
        self.checked = False
        self.first_offset: Offset | None = None

    def is_start(self, offset: Offset | None) -> bool:
        """Whether a pipeline with this offset, which is the stored one, is a start of the process, not a restart within it that
        has got somewhere."""
        return not self.checked or offset == self.first_offset
