"""Sends notifications to a URL by POST, from a thread of its own, so that a slow receiver delays nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from queue import Full, Queue
from threading import Thread
from typing import TYPE_CHECKING

from pydantic import SecretStr
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from minercdc.config.source.signals import NotificationConfig
from minercdc.stream.offset import JsonValue
from minercdc.web.client import client

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)

_MOST_WAITING = 1000
_SECONDS = 10.0
_TRIES = 5


class Webhook:
    """Sends documents to a URL in their order, by a thread that begins with the first and ends with the process; one that
    the receiver does not take after some tries is left out, which is logged.

    :param authorization: value of the header of that name; None for none.
    :param wait: longest wait between two tries, seconds.
    """

    def __init__(self, url: str, authorization: SecretStr | None = None, *, wait: float = 30.0) -> None:
        self._url = url
        self._headers = {"Authorization": authorization.get_secret_value()} if authorization else {}
        self._wait = wait
        self._queue: Queue[Mapping[str, JsonValue]] = Queue(_MOST_WAITING)
        self._thread: Thread | None = None

    def send(self, document: Mapping[str, JsonValue]) -> None:
        """Queue a document; when a thousand wait, it is left out with a warning in the log. The first call starts the
        thread."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="webhook", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait(document)
        except Full:
            _log.warning("a notification is not sent to the webhook: %d are waiting already", _MOST_WAITING)

    def _run(self) -> None:
        with client(_SECONDS, headers=self._headers) as posting:
            while True:
                self._post(posting, self._queue.get())

    def _post(self, posting: httpx2.Client, document: Mapping[str, JsonValue]) -> None:
        import httpx2

        retrying = Retrying(
            retry=retry_if_exception_type(httpx2.HTTPError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_exponential(multiplier=min(0.5, self._wait), max=self._wait),
        )

        def post() -> None:
            posting.post(self._url, json=dict(document)).raise_for_status()

        try:
            retrying(post)
        except RetryError as error:
            # The URL may hold a secret, as those of chats do: it is not logged.
            reason = type(error.last_attempt.exception()).__name__
            _log.warning("the webhook did not take a notification in %d tries: %s", _TRIES, reason)


def webhook_of(config: NotificationConfig) -> Webhook | None:
    """The webhook of channel `webhook`; None when that is not enabled."""
    url = config.minercdc_notification_webhook_url
    if url is None or "webhook" not in config.notification_enabled_channels:
        return None
    return Webhook(url.get_secret_value(), config.minercdc_notification_webhook_authorization)
