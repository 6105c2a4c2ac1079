"""TTC functions besides execute: dispatch by function number, piggybacks, session calls.

A function (03) is answered; piggybacks (11) and one-way calls (1A) precede it in the same message and are not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.wire import replies
from minercdc_sandbox.wire.conversation import Conversation
from minercdc_sandbox.wire.execute import describe_text, execute, execute_again, fetch
from minercdc_sandbox.wire.lob_call import free_temporaries, lob_call
from minercdc_sandbox.wire.negotiation import FIELD_VERSION_18_1, FIELD_VERSION_23_1_EXT1, Ttc
from minercdc_sandbox.wire.object_description import describe_object
from minercdc_sandbox.wire.packets import ProtocolError, UnreadCall
from minercdc_sandbox.wire.primitives import clr, ub

_MAX_LIST = 65535


def read_function_header(talk: Conversation) -> int:
    """Read the header after the first byte of the message; returns the function number. The call's sequence byte and, since 23ai,
    its token (else 0) go into `talk.call` and `talk.token`. Raises as `TtcReader`."""
    number = talk.reader.u8()
    talk.call = talk.reader.u8()
    talk.token = talk.reader.ub() if talk.agreed.field_version >= FIELD_VERSION_23_1_EXT1 else 0
    return number


def _commit(talk: Conversation) -> None:
    talk.session.commit()
    talk.send_status()


def _rollback(talk: Conversation) -> None:
    talk.session.rollback()
    talk.send_status()


def _ping(talk: Conversation) -> None:
    talk.session.check_alive()
    talk.send_status()


def _pipeline_end(talk: Conversation) -> None:
    talk.reader.ub()  # id
    talk.send_status()


def _logoff(talk: Conversation) -> None:
    talk.session.rollback()
    talk.send_status()
    talk.ended = True


def _version(talk: Conversation) -> None:
    r = talk.reader
    r.u8()  # pointer (buffer)
    r.ub()  # buffer size
    r.raw(2)  # pointers (length, version number)
    if talk.agreed.field_version >= FIELD_VERSION_18_1:
        r.ub()  # mode
    banner = talk.database.banner.encode()
    text = clr(banner) if talk.agreed.prefixed_text else banner
    body = bytes((Ttc.PARAMETER,)) + ub(len(banner)) + text + ub(version_number(talk.database.version))
    talk.finish(talk.reply(), body, replies.status(talk.call_end()))


def version_number(version: tuple[int, int, int, int, int]) -> int:
    """Five-part release packed the way clients unpack it since 18c: 8, 8, 4, 8 and 4 bits, the first part highest."""
    major, minor, update, port, patch = version
    return major << 24 | minor << 16 | update << 12 | port << 4 | patch


FUNCTIONS: dict[int, Callable[[Conversation], None]] = {
    4: partial(execute_again, and_fetch=False),
    5: fetch,
    9: _logoff,
    14: _commit,
    15: _rollback,
    59: _version,
    78: partial(execute_again, and_fetch=True),
    94: execute,
    96: lob_call,
    98: describe_text,
    119: describe_object,
    147: _ping,
    200: _pipeline_end,
}
REFUSED = {
    103: "distributed and sessionless transactions (TTC function 103)",
    104: "distributed and sessionless transactions (TTC function 104)",
    121: "Advanced Queuing (TTC function 121)",
    122: "Advanced Queuing (TTC function 122)",
    125: "subscriptions (TTC function 125)",
    128: "direct path load (TTC function 128)",
    145: "Advanced Queuing (TTC function 145)",
}
"""Functions that clients are known to call and the sandbox does not have."""


def run_function(talk: Conversation, number: int) -> None:
    """Read the call's body, do it, answer it. Raises OraError, for the caller to send; UnreadCall for an unknown function, and
    with the error of an earlier piggyback, which fails the call before its body is read; ProtocolError for a malformed call."""
    talk.cursor = 0
    function = FUNCTIONS.get(number)
    if function is None:
        raise UnreadCall(3001, f"unimplemented feature: {REFUSED.get(number, f'TTC function {number}')}")
    if talk.deferred is not None:
        deferred, talk.deferred = talk.deferred, None
        raise UnreadCall(deferred.number, deferred.text, deferred.position)
    function(talk)


def _cursor_numbers(talk: Conversation) -> list[int]:
    talk.reader.u8()  # pointer (list)
    count = talk.reader.ub()
    if count > _MAX_LIST:
        raise ProtocolError(f"a list of {count} cursors")
    return [talk.reader.ub() for _ in range(count)]


def _close_cursors(talk: Conversation) -> None:
    for number in _cursor_numbers(talk):
        talk.close_cursor(number)


def _cancel_cursors(talk: Conversation) -> None:
    for number in _cursor_numbers(talk):
        if cursor := talk.cursors.get(number):
            cursor.close_rows()


def _current_schema(talk: Conversation) -> None:
    talk.reader.u8()  # pointer (schema)
    schema = talk.reader.dalc().decode("utf-8", "replace").replace('"', "")
    talk.session.execute(f'ALTER SESSION SET CURRENT_SCHEMA = "{schema}"')


_METRICS = ("client_id", "module", "action", "ecid", "", "client_info", "", "", "dbop")
"""End-to-end attributes in the order of the message; no client is known to send the unnamed ones."""
_KEPT_METRICS = frozenset(("client_id", "module", "action", "client_info"))


def _end_to_end_metrics(talk: Conversation) -> None:
    """Piggyback 135: client identifier, module, action and the like: pointer and length of each, then the values that are there.
    Sets the session's metrics; an empty value clears one. Raises as `TtcReader`."""
    r = talk.reader
    r.raw(2)  # pointers (cidnam, cidser)
    r.ub()  # flags
    sent = []
    for name in _METRICS:
        pointer, size = r.u8(), r.ub()
        if pointer:
            sent.append((name, size))
    for name, size in sent:
        # Of drivers with prefixed texts an emptied value comes as 00, one set to None not at all; neither a value nor the
        # next message begins with 00.
        there = size or (talk.agreed.prefixed_text and r.peek() == 0)
        value = talk.text(size) if there else ""
        if name in _KEPT_METRICS:
            talk.session.set_metrics(**{name: value or None})


def _session_state(talk: Conversation) -> None:
    talk.reader.ub()  # state


def _pipeline_begin(talk: Conversation) -> None:
    talk.reader.ub()  # error set id
    talk.reader.raw(2)  # error set mode, pipeline mode


def _switch_transaction(talk: Conversation) -> None:
    """Piggyback 103, a sessionless transaction that begins with the next call: operation, context, XID, flags, timeout, places
    for the answer, names; then the bytes of those that are there. Raises as `TtcReader`, and ORA-03001 once all is read."""
    r = talk.reader
    r.ub()
    r.u8()
    sizes = [r.ub()]
    for _ in range(3):
        r.ub()
    r.u8()
    sizes.append(r.ub())
    r.ub()
    r.ub()
    r.raw(3)
    names = []
    for _ in range(2):
        r.u8()
        names.append(r.ub())
    for size in sizes:
        r.raw(size)
    r.ub()
    for size in names:
        r.raw(size)
    raise OraError(3001, f"unimplemented feature: {REFUSED[103]}")


def _application_context(talk: Conversation) -> None:
    r = talk.reader
    r.u8()
    r.ub()
    r.u8()
    count = r.ub()
    r.ub()
    r.u8()
    r.clr()
    if count > _MAX_LIST:
        raise ProtocolError(f"an application context of {count} entries")
    for _ in range(count):
        r.dalc()
        r.dalc()
        r.ub()


_PIGGYBACKS: dict[int, Callable[[Conversation], None]] = {
    96: free_temporaries,
    103: _switch_transaction,
    105: _close_cursors,
    120: _cancel_cursors,
    135: _end_to_end_metrics,
    152: _current_schema,
    154: _application_context,
    176: _session_state,
    199: _pipeline_begin,
}


def run_piggyback(talk: Conversation, number: int) -> None:
    """Read and do a call that is not answered; the first OraError of such a call goes into `talk.deferred`, and fails the next
    function. Raises UnreadCall for an unknown piggyback, ProtocolError, and as `TtcReader`."""
    piggyback = _PIGGYBACKS.get(number)
    if piggyback is None:
        raise UnreadCall(3001, f"unimplemented feature: TTC piggyback {number}")
    try:
        piggyback(talk)
    except UnreadCall:
        raise
    except OraError as error:
        talk.deferred = talk.deferred or error
