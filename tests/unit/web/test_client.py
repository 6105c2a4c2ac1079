"""The one HTTP client: what it raises for a program that does not answer, and what a start does not import."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from minercdc.local.ports import free_port
from minercdc.web.client import ask, client


@contextmanager
def answering(content: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The port of a program that answers one connection with some bytes, and what it was sent."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(65536))
                connection.sendall(content)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1], asked
        thread.join()


def test_nothing_listens() -> None:
    with pytest.raises(ConnectionRefusedError, match="Connection refused"):
        ask("127.0.0.1", free_port(), "/health", 1)


def test_a_host_that_is_none() -> None:
    for host in ("no.such.host.invalid", "a b", "x" * 70):
        with pytest.raises(OSError, match=r".+"):
            ask(host, 80, "/health", 1)


def test_no_answer_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(TimeoutError, match="timed out"):
        ask("127.0.0.1", server.getsockname()[1], "/health", 0.05)


@pytest.mark.parametrize(
    "content",
    [b"220 mail.example.org\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"],
    ids=["mail", "nothing", "cut"],
)
def test_an_answer_that_is_not_http(content: bytes) -> None:
    with answering(content) as (port, _), pytest.raises(ConnectionError, match=r".+"):
        ask("127.0.0.1", port, "/health", 1)


def test_programs_of_ours_are_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with answering(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}") as (port, asked):
        assert ask("127.0.0.1", port, "/signals", 1, method="POST", headers={"Authorization": "Bearer t"}, content="{}") == (
            202,
            b"{}",
        )
    assert asked[0].startswith(b"POST /signals HTTP/1.1\r\n")
    assert b"authorization: bearer t" in asked[0].lower()


def test_a_user_in_a_url_is_sent_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "minercdc")
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (port, asked), client(1, kept=0) as made:
        assert made.get(f"http://user:s3cret@127.0.0.1:{port}/").status_code == 200
    assert b"authorization: basic dXNlcjpzM2NyZXQ=".lower() in asked[0].lower()
    assert "s3cret" not in caplog.text


def test_a_start_imports_neither_the_http_client_nor_protobuf() -> None:
    code = (
        "import sys, json, minercdc.cli, minercdc.messages.formats.configured, minercdc.messages.formats.reading, minercdc.operate.bundle;"
        "print(json.dumps([name for name in ('httpx2', 'google.protobuf') if name in sys.modules]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == []
