"""Checks that librdkafka accepts the settings of a configuration: their names, and the form of their values."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer

_QUIET: Final = logging.getLogger("librdkafka.settings")
_QUIET.setLevel(logging.CRITICAL + 1)
_UNKNOWN: Final = "No such configuration property"
_WRONG: Final = "Invalid value"


def refused_settings(settings: Mapping[str, str], *, consumes: bool = False) -> Iterator[str]:
    """What librdkafka says against each of the settings by itself; nothing is connected.

    Certificates and the like, which another machine may have, are not looked for.

    :param consumes: the settings are a consumer's, not a producer's.
    """
    for name, value in settings.items():
        # A client without brokers reaches none; `logger` keeps its log lines from standard error.
        given: dict[str, Any] = {name: value, "logger": _QUIET}
        try:
            if consumes:
                Consumer({"group.id": "minercdc", **given}).close()
            else:
                Producer(given)
        except KafkaException as error:
            text = error.args[0].str()
            if text.startswith(_UNKNOWN):
                yield f"librdkafka has no setting {name}; its CONFIGURATION.md lists all"
            elif text.startswith(_WRONG):
                yield text
        except (TypeError, ValueError) as error:
            yield str(error)
