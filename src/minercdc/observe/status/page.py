"""The status page: one file with its style, script and drawing; nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from importlib import resources

from minercdc.stream.offset import JsonValue

_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Page:
    """Makes the status page of one connector from its file, which is read at construction.

    :param data: what the page shows: `status`, `history` and `configuration`.
    :ivar headers: HTTP headers that it has to be sent with.
    """

    def __init__(self, name: str, data: Callable[[], Mapping[str, JsonValue]]) -> None:
        self._name = name
        self._data = data
        self._text = resources.files("minercdc.observe.status").joinpath("page.html").read_text(encoding="utf-8")
        found = _SCRIPT.search(self._text)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        self.headers = {
            "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline';"
            " connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
        }

    def render(self, shown: bool) -> bytes:
        """The page as HTML.

        :param shown: with the data of this moment; otherwise the page asks its reader for the token, and fetches them.
        """
        data = dict(self._data()) if shown else {}
        status = data.get("status")
        sentence = (
            status.get("sentence", "") if isinstance(status, dict) else "The token is needed to see the connector's state."
        )
        values = {
            "name": html.escape(self._name if shown else "minercdc"),
            "sentence": html.escape(str(sentence)),
            "data": _embedded(data),
        }
        return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], self._text).encode()


def _embedded(data: Mapping[str, JsonValue]) -> str:
    """JSON that may stand within a <script> element: no character of it ends the element or begins another."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
