"""A server that answers as a test says, and keeps the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


@dataclass
class RegistryServer:
    """:ivar requests: method and path of each request, in order; `contents`: what each held, as text; `headers`: of each."""

    port: int
    requests: list[str] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def registry_server(answer: Callable[[str], Answer]) -> Iterator[RegistryServer]:
    """:param answer: status and content for `METHOD /path`; texts are sent as they are, all else as JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests = f"{self.command} {self.path}"
            seen.requests.append(requests)
            seen.contents.append(content.decode())
            seen.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, answered = answer(requests)
            text = (answered if isinstance(answered, str) else json.dumps(answered)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        seen = RegistryServer(server.server_port)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield seen
        finally:
            server.shutdown()
