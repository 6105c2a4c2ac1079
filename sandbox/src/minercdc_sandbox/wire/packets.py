"""Oracle Net packets over a socket, and the TTC byte stream that runs through DATA packets.

Header of 8 bytes: length (16 bits up to ACCEPT, 32 bits after it), type, flags. A DATA packet has two more bytes of
data flags. Any TTC field may straddle packets, so `TtcReader` pulls packets as it needs them. Every length a peer claims
is checked against a limit before anything is allocated for it.
"""

from __future__ import annotations

import socket
import struct
from enum import IntEnum
from typing import NamedTuple

from minercdc_sandbox.interfaces import OraError

SDU = 65535
MAX_CONNECT_PACKET = 8192
MAX_CALL_BYTES = 256 << 20
"""Most bytes of one call, all packets together: an array of 100,000 rows of 2 kB still fits."""
_RECEIVE = 1 << 18
_DATA_HEADER = 10
_FULL_BODY = 4096
_FLUSH = 1 << 18

END_OF_FILE = 0x0040
END_OF_RESPONSE = 0x2000


class ProtocolError(Exception):
    """The peer sent bytes which no client of this protocol sends; the connection ends."""


class Disconnected(Exception):
    """The peer closed the connection, between packets or in one."""


class UnreadCall(OraError):
    """A call that fails before it was read to its end. Unless the last packet was short, the server sends a BREAK, and all
    that comes before the client's RESET belongs to the call."""


class BreakReceived(Exception):
    """A MARKER came instead of data: the client wants the running call to end.

    :param kind: 1 BREAK, 2 RESET, 3 INTERRUPT.
    """

    def __init__(self, kind: int) -> None:
        super().__init__(f"marker {kind}")
        self.kind = kind


class PacketType(IntEnum):
    """Packet types that clients and servers exchange here."""

    CONNECT = 1
    ACCEPT = 2
    REFUSE = 4
    DATA = 6
    MARKER = 12


class Packet(NamedTuple):
    """A packet without its header; `type` is a number that may be none of `PacketType`."""

    type: int
    body: bytes


class PacketStream:
    """Packets over one socket, which stays the caller's. `accept_connect` sets `wide`, four bytes of length for two, and
    `sdu`, the most bytes of a sent packet. Reads and writes raise OSError, and TimeoutError by the socket's timeout."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.wide = False
        self.sdu = 8192
        self._received = bytearray()

    def read(self) -> Packet:
        """The next packet; waits for it. Raises Disconnected at the end, ProtocolError for a length out of range, OSError."""
        self._fill(8)
        size: int = struct.unpack_from(">I" if self.wide else ">H", self._received)[0]
        if not 8 <= size <= (SDU if self.wide else MAX_CONNECT_PACKET):
            raise ProtocolError(f"packet length {size}")
        self._fill(size)
        packet = Packet(self._received[4], bytes(self._received[8:size]))
        del self._received[:size]
        return packet

    def _fill(self, size: int) -> None:
        while len(self._received) < size:
            data = self.sock.recv(_RECEIVE)
            if not data:
                raise Disconnected
            self._received += data

    def write(self, kind: PacketType, body: bytes) -> None:
        """Send one packet that is not DATA. Raises OSError."""
        size = len(body) + 8
        header = struct.pack(">IBBH" if self.wide else ">H2xBBH", size, kind, 0, 0)
        self.sock.sendall(header + body)

    def write_data(self, payload: bytes, flags: int) -> None:
        """Send a payload, even an empty one, in as many DATA packets as it takes; the last one carries `flags`. Raises OSError."""
        room = self.sdu - _DATA_HEADER
        pieces: list[bytes] = []
        for start in range(0, len(payload) or 1, room):
            chunk = payload[start : start + room]
            last = start + room >= len(payload)
            size = len(chunk) + _DATA_HEADER
            form = ">IBBHH" if self.wide else ">H2xBBHH"
            pieces += (struct.pack(form, size, PacketType.DATA, 0, 0, flags if last else 0), chunk)
        self.sock.sendall(b"".join(pieces))

    def pending_marker(self) -> bool:
        """Whether the next packet is a MARKER, or the client has gone away; reads nothing and does not wait. Any thread may call
        it while the connection's thread does not read."""
        head = bytes(self._received[:8])
        if len(head) < 8:
            try:
                head += self.sock.recv(8 - len(head), socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not head:
                return True
        return len(head) >= 5 and head[4] == PacketType.MARKER


class TtcReader:
    """TTC fields read from the DATA packets of one connection. All reads wait for data and raise Disconnected at the end,
    BreakReceived for a MARKER, ProtocolError for another packet and for a call of more than 256 MiB, and as `PacketStream.read`.

    :ivar data, position: bytes received, and how many of them are consumed.
    """

    def __init__(self, stream: PacketStream) -> None:
        self._stream = stream
        self.data = b""
        self.position = 0
        self._budget = MAX_CALL_BYTES
        self._last_body = 0

    def begin_call(self) -> None:
        """A new call begins: its size counts from 0, and consumed bytes are dropped if all are. Unread ones are the next
        pipelined call."""
        self._budget = MAX_CALL_BYTES
        if self.position >= len(self.data):
            self.data = b""
            self.position = 0

    @property
    def has_whole_call(self) -> bool:
        """Whether the last packet was short, so that nothing of the call is still to come: clients fill a packet before they
        begin another."""
        return self._last_body < _FULL_BODY

    def discard(self) -> None:
        """Drop everything received so far: after a break, or after a call that cannot be read."""
        self.data = b""
        self.position = 0

    def _next_body(self) -> bytes:
        packet = self._stream.read()
        if packet.type == PacketType.MARKER and len(packet.body) >= 3:
            raise BreakReceived(packet.body[2])
        if packet.type != PacketType.DATA or len(packet.body) < 2:
            raise ProtocolError(f"packet type {packet.type} of {len(packet.body)} bytes where data was due")
        if len(packet.body) == 2 and packet.body[1] & END_OF_FILE:
            raise Disconnected
        self._last_body = len(packet.body)
        self._budget -= len(packet.body)
        if self._budget < 0:
            raise ProtocolError(f"a call of more than {MAX_CALL_BYTES} bytes")
        return packet.body[2:]

    def require(self, size: int) -> None:
        """Receive until there are at least `size` unread bytes in `data`; for small sizes. Raises Disconnected, BreakReceived,
        ProtocolError and OSError as all reads."""
        while len(self.data) - self.position < size:
            self.data = self.data[self.position :] + self._next_body()
            self.position = 0

    def raw(self, size: int) -> bytes:
        """Exactly `size` bytes. Raises ProtocolError for more than a call may have."""
        end = self.position + size
        if end <= len(self.data):
            piece = self.data[self.position : end]
            self.position = end
            return piece
        if size > self._budget:
            raise ProtocolError(f"a field of {size} bytes")
        pieces = [self.data[self.position :]]
        missing = size - len(pieces[0])
        while missing > 0:
            body = self._next_body()
            pieces.append(body[:missing])
            self.data, self.position = body, min(missing, len(body))
            missing -= len(body)
        return b"".join(pieces)

    def u8(self) -> int:
        """The next byte, 0 to 255. Raises as `require`."""
        if self.position >= len(self.data):
            self.require(1)
        value = self.data[self.position]
        self.position += 1
        return value

    def peek(self) -> int:
        """The next byte, 0 to 255, left unread. Raises as `require`."""
        self.require(1)
        return self.data[self.position]

    def ub(self) -> int:
        """The unsigned integer of a `ub` field. Raises ProtocolError for one of more than 8 bytes."""
        size = self.u8()
        if size > 8:
            raise ProtocolError(f"an integer of {size} bytes")
        return int.from_bytes(self.raw(size), "big")

    def clr(self) -> bytes | None:
        """The bytes of a `clr` field, in one or more pieces; None for NULL, which the empty string is too. Raises ProtocolError
        as `raw`, and as `require`."""
        size = self.u8()
        if size in (0, 255):
            return None
        if size != 254:
            return self.raw(size)
        pieces = []
        while chunk := self.ub():
            pieces.append(self.raw(chunk))
        return b"".join(pieces)

    def dalc(self) -> bytes:
        """The bytes of a `dalc` field; b'' for NULL. Raises as `ub` and `clr`."""
        return (self.clr() or b"") if self.ub() else b""


class ReplyWriter:
    """One response, sent in full packets as it grows so that a big fetch needs little memory; `finish` ends it.

    :param end_of_response: it was negotiated: the response ends in a marker and a flag.
    :param prefix: bytes before all others.
    :ivar begun: `add` has sent a part of it.
    """

    def __init__(self, stream: PacketStream, end_of_response: bool, prefix: bytes = b"") -> None:
        self._stream = stream
        self._end_of_response = end_of_response
        self._pieces = [prefix] if prefix else []
        self._size = len(prefix)
        self.begun = False

    def add(self, *pieces: bytes) -> None:
        """Append bytes; once there are more than 256 KiB, send those that fill whole packets. Raises OSError."""
        self._pieces += pieces
        self._size += sum(map(len, pieces))
        if self._size > _FLUSH:
            payload = b"".join(self._pieces)
            room = self._stream.sdu - _DATA_HEADER
            whole = len(payload) // room * room
            self._stream.write_data(payload[:whole], 0)
            self.begun = True
            self._pieces = [payload[whole:]]
            self._size = len(payload) - whole

    def finish(self, marker: bytes) -> None:
        """Send the rest; with end-of-response negotiated, `marker` and the flag on the last packet close it. Once only. Raises
        OSError."""
        if self._end_of_response:
            self._pieces.append(marker)
        self._stream.write_data(b"".join(self._pieces), END_OF_RESPONSE if self._end_of_response else 0)
