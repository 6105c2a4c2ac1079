"""Commands to FORS Oracle Logical Replicator 1.2 and its answers.

A message is a frame: MessageSize in 32 bits, which counts what follows it; a code in 16 bits; the body. Each command but
LogOff has one answer, and is sent once the answer to the one before has come.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, TypeAlias

ByteOrder: TypeAlias = Literal["little", "big"]
MARKS: Final[dict[ByteOrder, str]] = {"little": "<", "big": ">"}
"""The character that `struct` takes for each byte order."""

_LARGEST: Final = 2**64 - 1


class CommandCode(IntEnum):
    """OperationCode of a command: what the client wants of the server."""

    TABLE_LIST = 1
    START_SCN = 2
    LAST_COMMITED_SCN = 3
    BACK_TO_SCN = 4
    LOG_OFF = 5
    GET_STATUS = 6
    GET_SAVED_SCN = 7


class AnswerCode(IntEnum):
    """OperationCode of an answer: what kind of answer follows it."""

    OK = 1
    NO_MORE = 2
    ERROR = 3
    DATA = 4
    STATUS = 5
    SAVED_SCN = 6


class ServerStatus(IntEnum):
    """State of the server: which command it waits for, or that it sends changes (REPLICATING)."""

    WAIT_TABLE_LIST = 1
    WAIT_START_SCN = 2
    REPLICATING = 3


@dataclass(frozen=True, slots=True)
class Command:
    """A command, to be sent by `Session`.

    :param scn: of START_SCN, LAST_COMMITED_SCN and BACK_TO_SCN; None for other commands.
    :param sql: of TABLE_LIST: a query with the columns OWNER and NAME of the tables; None for other commands.
    """

    code: CommandCode
    scn: int | None = None
    sql: str | None = None

    @property
    def name(self) -> str:
        """The command as the protocol spells it, such as `BackToSCN`; for messages."""
        return _NAMES[self.code]

    def encoded(self, order: ByteOrder) -> bytes:
        """The bytes of the message after MessageSize. An SCN outside of 64 bits is sent as the nearest one within."""
        mark = MARKS[order]
        found = struct.pack(f"{mark}H", self.code)
        if self.scn is not None:
            found += struct.pack(f"{mark}Q", min(max(self.scn, 0), _LARGEST))
        if self.sql is not None:
            found += self.sql.encode()
        return found


_NAMES: Final = {
    CommandCode.TABLE_LIST: "TableList",
    CommandCode.START_SCN: "StartSCN",
    CommandCode.LAST_COMMITED_SCN: "LastCommitedSCN",
    CommandCode.BACK_TO_SCN: "BackToSCN",
    CommandCode.LOG_OFF: "LogOff",
    CommandCode.GET_STATUS: "GetStatus",
    CommandCode.GET_SAVED_SCN: "GetSavedSCN",
}


@dataclass(frozen=True, slots=True)
class Ok:
    """The answer to TABLE_LIST and START_SCN: the command is done."""


@dataclass(frozen=True, slots=True)
class NoMore:
    """The answer to a request for data when no operation is ready."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer Error: the server's number of the error, and its text, which may be ''."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Data:
    """The answer to a request for data: the bytes of one operation, for `read_operation`."""

    payload: memoryview


@dataclass(frozen=True, slots=True)
class Status:
    """The answer to GET_STATUS: the server's state."""

    status: ServerStatus


@dataclass(frozen=True, slots=True)
class SavedScn:
    """The answer to GET_SAVED_SCN: least begin SCN of the transactions that are not acknowledged, None when the server has
    none."""

    scn: int | None


Answer: TypeAlias = Ok | NoMore | Refusal | Data | Status | SavedScn


def read_answer(frame: bytes, order: ByteOrder) -> Answer:
    """The server's answer, from what follows MessageSize.

    :raises ValueError: these bytes are not an answer.
    """
    if len(frame) < 2:
        raise ValueError(f"{len(frame)} bytes are not an answer")
    code = AnswerCode(int.from_bytes(frame[:2], order))
    body = memoryview(frame)[2:]
    if code is AnswerCode.DATA:
        return Data(body)
    if code is AnswerCode.ERROR:
        # The text prints the length of ErrorString as that of the whole body: it is what is left of the frame.
        if len(body) < 4:
            raise ValueError("an Error without code")
        return Refusal(int.from_bytes(body[:4], order), bytes(body[4:]).decode("utf-8", "replace"))
    wanted = {AnswerCode.STATUS: 2, AnswerCode.SAVED_SCN: 10}.get(code, 0)
    if len(body) != wanted:
        raise ValueError(f"an answer {code.name} with {len(body)} bytes in place of {wanted}")
    if code is AnswerCode.STATUS:
        return Status(ServerStatus(int.from_bytes(body, order)))
    if code is AnswerCode.SAVED_SCN:
        flag = int.from_bytes(body[:2], order)
        if flag not in (0, 1):
            raise ValueError(f"SavedSCN with the flag {flag}")
        return SavedScn(int.from_bytes(body[2:], order) if flag else None)
    return Ok() if code is AnswerCode.OK else NoMore()
