"""Lines of the log as JSON documents."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from minercdc.cli.pasting import PasteableMessages


class JsonLines(logging.Formatter):
    """One document a line: time (UTC, ISO 8601), level, logger, message, thread, connector; `exception` where there is one.

    :param connector: its name.
    """

    def __init__(self, connector: str) -> None:
        super().__init__()
        self._connector = connector

    def format(self, record: logging.LogRecord) -> str:
        """The document of a record, on one line."""
        document = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "thread": record.threadName,
            "connector": self._connector,
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, ensure_ascii=False)


def log_as_json(connector: str) -> None:
    """From now on the log goes to standard error as JSON, on a terminal, too, and nowhere else; its level stays."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(connector))
    handler.addFilter(PasteableMessages())
    logging.getLogger().handlers = [handler]
