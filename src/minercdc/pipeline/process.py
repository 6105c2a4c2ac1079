"""What the pipelines of one process share."""

from __future__ import annotations

from collections.abc import Sequence

from minercdc.messages.formats.converting import RecordConverter
from minercdc.messages.refused_topics import RefusedTopics
from minercdc.messages.transforms.encoding import RecordTransformer
from minercdc.observe.notifications.posting import Posting
from minercdc.observe.watch import Watch
from minercdc.pipeline.pipeline import Target
from minercdc.pipeline.standby.prepared import Prepared
from minercdc.signals.channels import SignalChannel
from minercdc.sinks.kafka.ownership import Ownership
from minercdc.snapshot.initial.mode import Decision, Steps
from minercdc.stream.offset import Offset


class ProcessState:
    """State that the pipelines of one process share: the database is checked, and `snapshot.mode=always` applies, once only.

    :param decide: what `snapshot.mode` does at a start.
    :param watch: what the process remembers of its signals.
    :param channels: channels of signals that the process keeps.
    :param posting: where its notifications go.
    :param ownership: of the connector's name.
    :param converter: of records into the format of keys and values, None where they are printed in it.
    :param transformer: None where there are no transformations.
    :param target: where events go instead of the configured sink; None: to that sink.
    :param prepared: what was made ready while this process was a standby; None: nothing ever is.
    :param refused_topics: topics that Kafka refused, and records in them; None for none yet.
    :ivar first_offset: the offset found at the start; one that differs was committed by this process.
    :ivar checked: the database is checked.
    :ivar handover: the offset that was loaded last is of another family of adapters.
    :ivar schema_lost: the last pipeline could not use the schema history.
    :ivar steps: what the last pipeline did before streaming, and whether it streams.
    """

    def __init__(
        self,
        decide: Decision,
        watch: Watch,
        channels: Sequence[SignalChannel],
        ownership: Ownership,
        posting: Posting,
        converter: RecordConverter | None = None,
        transformer: RecordTransformer | None = None,
        target: Target | None = None,
        prepared: Prepared | None = None,
        refused_topics: RefusedTopics | None = None,
    ) -> None:
        self.refused_topics = refused_topics or RefusedTopics()
        self.ownership = ownership
        self.target = target
        self.prepared = prepared
        self.posting = posting
        self.converter = converter
        self.transformer = transformer
        self.watch = watch
        self.channels = channels
        self.decide = decide
        self.checked = False
        self.handover = False
        self.schema_lost = False
        self.first_offset: Offset | None = None
        self.steps = Steps(data=False, schema=False)
