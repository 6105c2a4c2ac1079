"""Shows notifications: in the log, to a webhook, on the HTTP port."""

from __future__ import annotations

import json
import logging
from collections import deque

from minercdc.config.source.signals import NotificationConfig
from minercdc.messages.notification import document
from minercdc.observe.latest_notifications import Watch
from minercdc.observe.notifications.webhook import Webhook
from minercdc.stream.events import Notification

_log = logging.getLogger(__name__)

_MOST_WAITING = 1000


class Posting:
    """Where a connector's notifications go. Any thread may post.

    :param prefix: `topic.prefix`.
    :param webhook: None where there is none.
    """

    def __init__(self, config: NotificationConfig, prefix: str, watch: Watch, webhook: Webhook | None = None) -> None:
        self._prefix = prefix
        self._watch = watch
        self._webhook = webhook
        self._logs = "log" in config.notification_enabled_channels
        self._waiting: deque[Notification] = deque(maxlen=_MOST_WAITING)

    def show(self, notification: Notification) -> None:
        """Show a notification that is durable, or that is not part of the stream: on the HTTP port, in the log and to the
        webhook, as far as these are enabled."""
        message = document(notification, self._prefix)
        self._watch.notify(message)
        if self._logs:
            _log.info("notification: %s", json.dumps(message))
        if self._webhook is not None:
            self._webhook.send(message)

    def post(self, notification: Notification) -> None:
        """Show a notification about the stream at once, also while the stream stands; its topic gets it when the stream goes on."""
        self.show(notification)
        self._waiting.append(notification)

    def waiting(self) -> list[Notification]:
        """Those that were posted since the last call, for their topic; the latest thousand when there were more."""
        found = []
        while self._waiting:
            found.append(self._waiting.popleft())
        return found
