"""Sections for what is asked for while the connector runs, and for what it tells about it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, field_validator, model_validator

from minercdc.config.section import CommaList, Section
from minercdc.config.sections import TRANSPORTABLE


class NotificationConfig(Section):
    """Notifications: what snapshots and signals came to."""

    notification_enabled_channels: CommaList = Field(
        (),
        description="Where notifications go, any of `sink` (a topic, in the Kafka transaction of the rows around them) and `log`. `GET /notifications` (`minercdc.http.port`) shows the latest in any case.",
    )
    notification_sink_topic_name: str | None = Field(
        None, pattern=f"^{TRANSPORTABLE.pattern}$", description="Topic of channel `sink`, one partition; needed with it."
    )

    @field_validator("notification_enabled_channels")
    @classmethod
    def _channels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for channel in value:
            if channel == "jmx":
                raise ValueError("there is no JMX here: GET /notifications of minercdc.http.port shows them")
            if channel not in ("sink", "log"):
                raise ValueError(f"'{channel}' is not one of sink, log")
        return value

    @model_validator(mode="after")
    def _topic(self) -> Self:
        if "sink" in self.notification_enabled_channels and not self.notification_sink_topic_name:
            raise ValueError("notification.sink.topic.name: needed, since notification.enabled.channels has sink")
        return self

    @property
    def sink_topic(self) -> str | None:
        """The topic to write to, None for none."""
        return self.notification_sink_topic_name if "sink" in self.notification_enabled_channels else None
