"""What a command says of a port where no connector answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from minercdc.errors import LocalServiceError
from minercdc.http_port.client import fetch_status, post_signal
from minercdc.local.ports import free_port


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
