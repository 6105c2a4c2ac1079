"""Connect, protocol and data types: what client and server agree on before the logon.

The profile decides the newest protocol offered; `Negotiated.field_version`, the smaller of both sides' TTC field version,
decides which optional fields later messages have.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from minercdc_sandbox.interfaces import OraType
from minercdc_sandbox.wire.packets import SDU, PacketStream, PacketType, ProtocolError, TtcReader
from minercdc_sandbox.wire.primitives import clr

SCALED_TYPES = frozenset(
    (OraType.NUMBER, OraType.TIMESTAMP, OraType.TIMESTAMP_TZ, OraType.TIMESTAMP_LTZ, OraType.INTERVAL_DS)
)
"""Types whose scale is an `sb` in descriptions when `Negotiated.wide_scale` says so."""
FIELD_VERSION_12_2, FIELD_VERSION_12_2_EXT1, FIELD_VERSION_18_1, FIELD_VERSION_20_1 = 8, 9, 11, 14
FIELD_VERSION_23_1, FIELD_VERSION_23_1_EXT1, FIELD_VERSION_23_1_EXT3, FIELD_VERSION_23_4 = 17, 18, 20, 24
"""TTC field versions since which messages have more fields, by python-oracledb's names (`TNS_CCAP_FIELD_VERSION_..`)."""
CHARSET_AL32UTF8 = 873
CHARSET_AL16UTF16 = 2000
_FAST_AUTH = 0x10000000
_END_OF_RESPONSE = 0x02000000
_NO_NATIVE_ENCRYPTION = 0x04
_CAN_END_RESPONSE = 0x20
_LENGTH_PREFIXED_TEXT = 0x02
_OLDEST = 315  # the first with 32-bit packet lengths; go-ora says 317
_MAX_NAME = 4096
_MAX_DATA_TYPES = 2000


class Ttc(IntEnum):
    """Message types: the first byte of a TTC message."""

    PROTOCOL = 1
    DATA_TYPES = 2
    FUNCTION = 3
    ERROR = 4
    ROW_HEADER = 6
    ROW_DATA = 7
    PARAMETER = 8
    STATUS = 9
    IO_VECTOR = 11
    LOB_DATA = 14
    DESCRIBE = 16
    PIGGYBACK = 17
    BIT_VECTOR = 21
    ONE_WAY = 26
    IMPLICIT_RESULTS = 27
    END_OF_RESPONSE = 29
    TOKEN = 33
    FAST_AUTH = 34


@dataclass(frozen=True, slots=True)
class Profile:
    """The protocol features of a database release, see `PROFILES`: protocol (TNS) and TTC field version, and the flags that
    ACCEPT sends."""

    protocol: int
    flags: int
    field_version: int


PROFILES = {"19c": Profile(318, 0, 12), "23ai": Profile(319, _FAST_AUTH | _END_OF_RESPONSE, 24)}


@dataclass(slots=True)
class Negotiated:
    """The protocol features that both sides have; the handshake's messages fill it in.

    :param field_version: TTC field version; the server's own until `settle_field_version`.
    :param end_of_response: the last packet of a response carries the flag END_OF_RESPONSE; the server's wish until DATA TYPES.
    :param prefixed_text: texts with a length sent earlier are `clr` (python-oracledb, go-ora), else bare (ojdbc).
    :param wide_scale: a describe's scale is an `sb`, else one raw byte.
    :param driver: the name in the PROTOCOL request; '' before.
    :param capabilities: the client's compile-time ones; b'' before the DATA TYPES request.
    """

    field_version: int
    end_of_response: bool
    prefixed_text: bool = True
    wide_scale: bool = False
    driver: str = ""
    capabilities: bytes = b""


class Refused(Exception):
    """The connect wants something that the sandbox does not have; REFUSE has been sent, the connection is to end."""


# Bytes of the server's compile-time capabilities that ojdbc or go-ora insist on; python-oracledb looks at [7] alone.
_LOGON_TYPES, _FIELD_VERSION, _TTC1, _OCI1, _LOB, _WIDE_DATA_TYPES, _TTC3 = 4, 7, 15, 16, 23, 27, 37
_RUNTIME = bytes((2, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0))  # [6] & 4: strings up to 32767 bytes


def _compile_capabilities(field_version: int) -> bytes:
    capabilities = bytearray(55)
    values = {_LOGON_TYPES: 0xEF, _FIELD_VERSION: field_version, _TTC1: 0x7F, _OCI1: 0xFF}
    values |= {_LOB: 0xDF, _WIDE_DATA_TYPES: 1, _TTC3: 0xB0}
    for index, value in values.items():
        capabilities[index] = value
    return bytes(capabilities)


def accept_connect(stream: PacketStream, profile: Profile, services: Sequence[str]) -> str:
    """Read CONNECT and answer it with ACCEPT; returns the service's name, one of `services`, in upper case. Sets `sdu` and `wide`
    of the stream. Raises Refused after REFUSE was sent for an unknown service and for pooled or shared servers; ProtocolError for
    a protocol older than 315 and malformed bytes; and as `PacketStream.read`."""
    packet = stream.read()
    if packet.type != PacketType.CONNECT or len(packet.body) < 50:
        raise ProtocolError(f"packet type {packet.type} of {len(packet.body)} bytes where CONNECT was due")
    fields = struct.unpack_from(">10H", packet.body)
    version, size, offset = fields[0], fields[8], fields[9]
    if size > _MAX_NAME:
        raise ProtocolError(f"connect data of {size} bytes")
    text = packet.body[offset - 8 :]
    if size and len(text) == 0:  # more than 230 bytes of connect data follow in a DATA packet
        text = stream.read().body[2:]
    service = _service(stream, text[:size].decode("ascii", "replace"), services)
    agreed = min(profile.protocol, version)
    if agreed < _OLDEST:
        raise ProtocolError(f"protocol version {version}")
    wanted: int = struct.unpack_from(">I", packet.body, 50)[0] if offset >= 66 and len(packet.body) >= 54 else fields[3]
    stream.sdu = min(max(512, wanted), SDU)
    head = (agreed, 0x0001, stream.sdu, SDU, 0x0001, 0, 45, _NO_NATIVE_ENCRYPTION, _NO_NATIVE_ENCRYPTION)
    body = (
        struct.pack(">7HBB", *head)
        + bytes(8)
        + struct.pack(">IIxI", stream.sdu, stream.sdu, profile.flags if agreed >= 318 else 0)
    )
    # ojdbc reads 16 more bytes at 319
    stream.write(PacketType.ACCEPT, body + bytes(16) if agreed >= 319 else body)
    stream.wide = True
    return service


def _service(stream: PacketStream, text: str, services: Sequence[str]) -> str:
    match = re.search(r"(SERVICE_NAME|SID)\s*=\s*([^)\s]*)", text, re.IGNORECASE)
    name = match[2].upper() if match else ""
    dedicated = re.search(r"\(\s*SERVER\s*=\s*(POOLED|SHARED)", text, re.IGNORECASE) is None
    if name in services and dedicated:
        return name
    code = 12520  # no pooled or shared servers here: DRCP is not started in Oracle either unless configured
    if dedicated:
        code = 12505 if match and match[1].upper() == "SID" else 12514
    refuse(stream, code)
    raise Refused(f"ORA-{code}: {name or 'no service'}")


def refuse(stream: PacketStream, code: int) -> None:
    """Send REFUSE with a listener's error number, 12514 for ORA-12514. The connection stays open. Raises OSError."""
    text = f"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
    stream.write(PacketType.REFUSE, struct.pack(">BBH", 0x22, 0, len(text)) + text)


def _read_name(reader: TtcReader) -> bytes:
    name = bytearray()
    while byte := reader.u8():
        name.append(byte)
        if len(name) > _MAX_NAME:
            raise ProtocolError("a name without end")
    return bytes(name)


def protocol_reply(reader: TtcReader, agreed: Negotiated) -> bytes:
    """Read a PROTOCOL request (after its first byte); returns the answer for the caller to send. Sets `driver` of `agreed`.
    Raises ProtocolError for a name without end, and as `TtcReader`."""
    _read_name(reader)  # the versions the client speaks
    agreed.driver = _read_name(reader).decode("ascii", "replace")
    fdo = bytes(9) + struct.pack(">H", CHARSET_AL16UTF16)  # lengths at [5], [6] are 0, hence the national charset at 9
    head = bytes((Ttc.PROTOCOL, 6, 0)) + b"x86_64/Linux 2.4.xx\0" + struct.pack("<HBH", CHARSET_AL32UTF8, 1, 0)
    return head + struct.pack(">H", len(fdo)) + fdo + clr(_compile_capabilities(agreed.field_version)) + clr(_RUNTIME)


def data_types_reply(reader: TtcReader, agreed: Negotiated) -> bytes:
    """Read a DATA TYPES request (after its first byte); returns the answer for the caller to send, which is the client's own
    list. Sets all of `agreed` but `driver` and `field_version`. Raises ProtocolError, and as `TtcReader`."""
    reader.raw(4)  # charsets: the client converts
    agreed.prefixed_text = bool(reader.u8() & _LENGTH_PREFIXED_TEXT)
    agreed.capabilities = reader.clr() or b""
    runtime = reader.clr() or b""
    if len(agreed.capabilities) <= _FIELD_VERSION:
        raise ProtocolError("capabilities without a field version")
    ends = len(agreed.capabilities) > 40 and bool(agreed.capabilities[40] & _CAN_END_RESPONSE)
    agreed.end_of_response = agreed.end_of_response and ends  # ojdbc takes fast auth but not end-of-response
    zoned = len(runtime) > 1 and bool(runtime[1] & 1)
    if zoned:
        reader.raw(11)
    if agreed.driver.startswith("OracleClientGo"):
        reader.raw(2)
    entries = []
    while (kind := reader.raw(2)) != b"\0\0":
        conversion = reader.raw(2)
        entries.append(kind + conversion + (reader.raw(4) if conversion != b"\0\0" else b""))
        if kind == b"\0\x27":
            agreed.wide_scale = conversion != kind
        if len(entries) > _MAX_DATA_TYPES:
            raise ProtocolError("a list of data types without end")
    return bytes((Ttc.DATA_TYPES,)) + (bytes(11) if zoned else b"") + b"".join(entries) + b"\0\0"


def settle_field_version(agreed: Negotiated) -> None:
    """Set the smaller of both sides' TTC field versions; call it once `capabilities` are known."""
    agreed.field_version = min(agreed.field_version, agreed.capabilities[_FIELD_VERSION] or agreed.field_version)
