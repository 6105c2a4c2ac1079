"""TCPS: a thread per connection that takes TLS off, so that the connection itself has a plain socket.

    client == TLS == relay == socket pair == Connection

A connection peeks at its socket to see a MARKER that cancels the running call; nothing can be peeked at through TLS.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import ssl
import threading
from pathlib import Path

log = logging.getLogger(__name__)

_HANDSHAKE_SECONDS = 20.0
_PIECE = 1 << 16
_WAITING = 1 << 20
"""Bytes one side may be ahead of the other."""


def server_context(certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """The context of a server with this certificate (chain) and key, both PEM files.

    :param key: None: it is in the certificate's file.
    :raises OSError: a file cannot be read or is no certificate or key (ssl.SSLError is one).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def plain_side(sock: socket.socket, context: ssl.SSLContext, peer: str) -> socket.socket:
    """A plain socket to the client of `sock`, for the caller to close: a thread takes TLS off between both. It closes `sock` and
    its end when either side closes or the handshake fails or takes over 20 seconds; TLS errors are logged as a warning."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=_serve, args=(sock, theirs, context, peer), name=f"sandbox-tls-{peer}").start()
    return ours


def _serve(sock: socket.socket, plain: socket.socket, context: ssl.SSLContext, peer: str) -> None:
    with plain, contextlib.ExitStack() as open_sockets:
        open_sockets.callback(sock.close)
        try:
            sock.settimeout(_HANDSHAKE_SECONDS)
            secure = open_sockets.enter_context(context.wrap_socket(sock, server_side=True))
            secure.setblocking(False)
            plain.setblocking(False)
            _relay(secure, plain)
        except ssl.SSLError as error:
            log.warning("connection from %s closed: TLS: %s", peer, error.reason or error)
        except OSError:
            log.debug("connection from %s lost", peer)


def _relay(secure: ssl.SSLSocket, plain: socket.socket) -> None:
    """Copy both ways, without blocking, until one side has closed and its bytes are delivered. Raises OSError."""
    inward, outward = bytearray(), bytearray()
    secure_open = plain_open = True
    while (secure_open or inward) and (plain_open or outward):
        readers: list[socket.socket] = []
        if secure_open and len(inward) < _WAITING:
            readers.append(secure)
        if plain_open and len(outward) < _WAITING:
            readers.append(plain)
        writers: list[socket.socket] = ([plain] if inward else []) + ([secure] if outward else [])
        readable, _, _ = select.select(readers, writers, [], 0 if secure.pending() and secure in readers else None)
        if secure in readers and (secure in readable or secure.pending()):
            secure_open = _receive(secure, inward)
        if plain in readable:
            plain_open = _receive(plain, outward)
        _send(plain, inward)
        _send(secure, outward)


def _receive(source: socket.socket, buffer: bytearray) -> bool:
    """Append what can be read now to the buffer; False at the end of the stream. Raises OSError."""
    try:
        data = source.recv(_PIECE)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return True
    buffer += data
    return bool(data)


def _send(sink: socket.socket, buffer: bytearray) -> None:
    with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        while buffer:
            del buffer[: sink.send(buffer[:_PIECE])]
