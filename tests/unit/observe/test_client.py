"""What a command says of a port where no connector answers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from minercdc.errors import LocalServiceError
from minercdc.local.ports import free_port
from minercdc.observe.http.client import fetch_status, post_signal


@pytest.fixture(
    params=[
        b"220 mail.example.org\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\n\r\n<html>",
        b"",
    ],
    ids=["mail", "cut", "page", "nothing"],
)
def other_program(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a program that answers every connection with a few bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(request.param)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def test_another_program_has_the_port(other_program: int) -> None:
    with pytest.raises(LocalServiceError, match=f"no connector answers at 127.0.0.1:{other_program}: .+"):
        fetch_status("127.0.0.1", other_program, "token")


def test_nothing_listens_there() -> None:
    with pytest.raises(LocalServiceError, match="Connection refused"):
        post_signal("127.0.0.1", free_port(), {"id": "a"}, "token")


@pytest.mark.parametrize(
    ("answered", "says"),
    [
        (HTTPStatus.SERVICE_UNAVAILABLE, None),
        (HTTPStatus.UNAUTHORIZED, "refuses: the token is wrong$"),
        (HTTPStatus.BAD_GATEWAY, "refuses: <html>x{194}$"),
    ],
)
def test_a_connector_that_is_down_answers_and_a_refusal_is_its_reason_only(answered: HTTPStatus, says: str | None) -> None:
    bodies = {
        HTTPStatus.SERVICE_UNAVAILABLE: json.dumps({"status": "DOWN", "sentence": "Waiting."}),
        HTTPStatus.UNAUTHORIZED: json.dumps({"error": "the token is wrong"}),
    }
    body = bodies.get(answered, "<html>" + "x" * 5000)

    class Requests(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(answered)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Requests) as server:
        threading.Thread(target=server.handle_request).start()
        if says is None:
            assert fetch_status("127.0.0.1", server.server_port, "token")["sentence"] == "Waiting."
        else:
            with pytest.raises(LocalServiceError, match=says):
                fetch_status("127.0.0.1", server.server_port, "token")
