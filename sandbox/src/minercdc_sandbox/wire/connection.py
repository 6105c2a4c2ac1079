"""One connection, one thread: handshake, logon, then calls until the client leaves.

malformed bytes        -> ProtocolError: one log line, this connection ends
an ORA- error          -> OER, the connection goes on
a MARKER during a call -> the session is cancelled, markers are exchanged, OER with ORA-01013
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

from minercdc_sandbox.interfaces import Database, OraError
from minercdc_sandbox.wire.conversation import Conversation
from minercdc_sandbox.wire.functions import read_function_header, run_function, run_piggyback
from minercdc_sandbox.wire.logon import PHASE_ONE, PHASE_TWO, Logon
from minercdc_sandbox.wire.negotiation import (
    Negotiated,
    Profile,
    Refused,
    Ttc,
    accept_connect,
    data_types_reply,
    protocol_reply,
    settle_field_version,
)
from minercdc_sandbox.wire.packets import BreakReceived, Disconnected, PacketStream, PacketType, ProtocolError, UnreadCall

log = logging.getLogger(__name__)

_LOGON_SECONDS = 60.0
_BREAK, _RESET, _INTERRUPT = 1, 2, 3
_CANCELLED = OraError(1013, "user requested cancel of current operation")


class Connection:
    """Serves one accepted socket, which it owns: `serve` runs in a thread of its own and closes it. `talk` is None until CONNECT
    was answered."""

    def __init__(self, sock: socket.socket, peer: str, database: Database, profile: Profile) -> None:
        self._sock = sock
        self._peer = peer
        self._database = database
        self._profile = profile
        self.talk: Conversation | None = None

    def serve(self) -> None:
        """Run handshake, logon and calls until either side ends the connection; never raises. A client has 60 seconds to log on.
        At the end the session is rolled back and closed, and the socket too; malformed bytes and a missing logon are logged as a
        warning."""
        try:
            self._sock.settimeout(_LOGON_SECONDS)
            stream = PacketStream(self._sock)
            service = accept_connect(stream, self._profile, self._database.services())
            ends = self._profile.protocol >= 319
            agreed = Negotiated(self._profile.field_version, ends)
            self.talk = Conversation(stream, self._database, agreed, self._peer)
            self._converse(self.talk, Logon(self.talk, service))
        except (Disconnected, Refused):
            pass
        except ProtocolError as error:
            log.warning("connection from %s closed: %s", self._peer, error)
        except TimeoutError:
            log.warning("connection from %s closed: no logon within %d s", self._peer, _LOGON_SECONDS)
        except OSError:
            log.debug("connection from %s lost", self._peer)
        except Exception:
            log.exception("connection from %s closed", self._peer)
        finally:
            self._close()

    def abort(self) -> None:
        """From another thread: cancel the running call and make `serve` return soon; does not wait for it."""
        if self.talk is not None and self.talk.logged_on:
            self.talk.session.cancel()
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            log.debug("connection from %s was closed already", self._peer)

    def _close(self) -> None:
        try:
            if self.talk is not None:
                self.talk.close()
        except Exception:
            log.exception("session of %s did not close", self._peer)
        finally:
            self._sock.close()

    def _converse(self, talk: Conversation, logon: Logon) -> None:
        while not talk.ended:
            try:
                talk.reader.begin_call()
                self._message(talk, logon)
            except BreakReceived as marker:
                # It came between calls, so it will fail a call not read yet: that one's statement has no cursor here.
                talk.cursor = 0
                self._answer_break(talk, marker.kind)

    def _message(self, talk: Conversation, logon: Logon) -> None:
        kind = talk.reader.u8()
        if kind in (Ttc.FUNCTION, Ttc.PIGGYBACK, Ttc.ONE_WAY):
            number = read_function_header(talk)
            if number in (PHASE_ONE, PHASE_TWO):
                self._guarded(talk, logon.phase_one if number == PHASE_ONE else logon.phase_two)
                if talk.logged_on:
                    self._sock.settimeout(None)
            elif not talk.logged_on:
                raise ProtocolError(f"function {number} before logon")
            elif kind == Ttc.FUNCTION:
                self._guarded(talk, lambda: run_function(talk, number))
            else:
                self._guarded(talk, lambda: run_piggyback(talk, number))
        elif kind == Ttc.FAST_AUTH:
            logon.fast()
        elif kind == Ttc.PROTOCOL:
            talk.stream.write_data(protocol_reply(talk.reader, talk.agreed), 0)
        elif kind == Ttc.DATA_TYPES:
            reply = data_types_reply(talk.reader, talk.agreed)
            settle_field_version(talk.agreed)
            talk.stream.write_data(reply, 0)
        else:
            raise ProtocolError(f"TTC message {kind}")

    def _guarded(self, talk: Conversation, function: Callable[[], None]) -> None:
        """Run a call, during which it may be interrupted; its error is sent to the client, one of the sandbox's own bugs as
        ORA-00600 with a traceback in the log. A BREAK of the client is answered. Raises BreakReceived, Disconnected,
        ProtocolError and OSError."""
        talk.begin_call()
        try:
            function()
            return
        except OraError as error:
            failure = error
        except (BreakReceived, Disconnected, ProtocolError, OSError):
            raise
        except Exception as error:
            # A bug of the sandbox: the client sees it as Oracle shows its own, the log has the traceback.
            log.exception("call of %s failed", self._peer)
            failure = OraError(600, f"internal error code, arguments: [{type(error).__name__}: {error}]")
        finally:
            talk.end_call()
        if isinstance(failure, UnreadCall):
            self._refuse_unread(talk, failure)
        elif failure.number == _CANCELLED.number and talk.stream.pending_marker():
            packet = talk.stream.read()
            self._answer_break(talk, packet.body[2] if len(packet.body) >= 3 else _BREAK)
        else:
            talk.send_error(failure)

    def _refuse_unread(self, talk: Conversation, failure: UnreadCall) -> None:
        if talk.reader.has_whole_call:
            talk.reader.discard()
            talk.send_error(failure)
        else:
            self._reset(talk, 0, failure)

    def _answer_break(self, talk: Conversation, kind: int) -> None:
        """Drop the response begun and answer the client's marker of this `kind`. INTERRUPT: answer BREAK, wait for RESET. BREAK:
        wait for RESET. Then RESET and ORA-01013. Raises as `PacketStream.read`."""
        talk.drop_reply()
        self._reset(talk, kind, _CANCELLED)

    def _reset(self, talk: Conversation, kind: int, failure: OraError) -> None:
        """Fail the running call with `failure` once the client has marked the end of its message; drops all that it sends before.
        Raises as `PacketStream.read`.

        :param kind: of the marker that it sent, 0 of none: the server breaks the call off.
        """
        talk.reader.discard()
        if kind in (0, _INTERRUPT):
            talk.stream.write(PacketType.MARKER, bytes((1, 0, _BREAK)))
        while kind != _RESET:
            packet = talk.stream.read()
            if packet.type == PacketType.MARKER and len(packet.body) >= 3:
                kind = packet.body[2]
        talk.stream.write(PacketType.MARKER, bytes((1, 0, _RESET)))
        talk.send_error(failure)
