"""A client of a connector's HTTP port."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from minercdc.errors import LocalServiceError
from minercdc.stream.offset import JsonValue
from minercdc.web.client import ask

_PATIENCE_SECONDS = 10.0
_MOST_SHOWN = 200


def post_signal(host: str, port: int, signal: Mapping[str, JsonValue], token: str) -> None:
    """Send a signal to a connector's port; it is durable when this returns.

    :raises LocalServiceError: no connector answers there, or it refuses the signal.
    """
    status, text = _ask(host, port, "POST", "/signals", token, json.dumps(signal))
    if status != HTTPStatus.ACCEPTED:
        raise LocalServiceError(f"the connector at {host}:{port} refuses the signal: {_reason(text)}")


def fetch_notifications(host: str, port: int, token: str) -> list[dict[str, Any]]:
    """The latest thousand notifications of a connector's process, oldest first, by its port.

    :raises LocalServiceError: no connector answers there, or it refuses.
    """
    found: list[dict[str, Any]] = _fetch(host, port, "/notifications", token)
    return found


def fetch_status(host: str, port: int, token: str) -> dict[str, Any]:
    """The document of /api/status of a connector's process, by its port; also of one that is down, which answers 503 with it.

    :raises LocalServiceError: no connector answers there, or it refuses.
    """
    path = "/api/status"
    status, text = _ask(host, port, "GET", path, token)
    if status not in (HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE):
        raise LocalServiceError(f"the connector at {host}:{port} refuses: {_reason(text)}")
    found = _document(text)
    if not isinstance(found, dict) or "status" not in found:
        raise _no_connector(host, port, path)
    return found


def _fetch(host: str, port: int, path: str, token: str) -> Any:
    status, text = _ask(host, port, "GET", path, token)
    if status != HTTPStatus.OK:
        raise LocalServiceError(f"the connector at {host}:{port} refuses: {_reason(text)}")
    if (found := _document(text)) is None:
        raise _no_connector(host, port, path)
    return found


def _document(text: str) -> Any:
    """What a text is as JSON; None when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _no_connector(host: str, port: int, path: str) -> LocalServiceError:
    return LocalServiceError(f"no connector answers at {host}:{port}: {path} is not JSON of a connector")


def _reason(text: str) -> str:
    """Why a connector refuses, out of its answer; of another program's answer the first 200 characters."""
    found = _document(text)
    reason = found.get("error") if isinstance(found, dict) else None
    return str(reason) if reason else text[:_MOST_SHOWN]


def _ask(host: str, port: int, method: str, path: str, token: str, body: str | None = None) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        status, content = ask(host, port, path, _PATIENCE_SECONDS, method=method, headers=headers, content=body)
    except OSError as error:
        raise LocalServiceError(f"no connector answers at {host}:{port}: {error}", hint="Is it running?") from None
    return status, content.decode(errors="replace")
