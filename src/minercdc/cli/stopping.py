"""Ctrl-C and SIGTERM: one line, within seconds; status 0 for a command that runs until it is stopped, 130 for one that ends by itself."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable

from minercdc.stream.temporary import remove_temporary_directories

UNFINISHED = 130  # as of a shell whose command Ctrl-C ended

_log = logging.getLogger(__name__)


class Stop(threading.Event):
    """Set by SIGINT and SIGTERM; the second one ends the process at once, with status 128 + its number.

    Construct it in the main thread: it replaces the handlers of both signals, for the rest of the process.

    :param patience: seconds after which the process ends even when a call to a server that does not answer is still waiting; 0 while
        there is nothing to end in order, None for no limit.
    :param status: exit status of a process that ends because its patience is over.
    :ivar leaving: called before such an end.
    :ivar hung_up: called at each SIGHUP, in a thread of its own, once `take_hangups` was called.
    """

    def __init__(self, patience: float | None = None, status: int = 0) -> None:
        super().__init__()
        self.patience = patience
        self._status = status
        self.leaving: Callable[[], None] = lambda: None
        self.hung_up: Callable[[], None] = lambda: None
        # Python runs handlers between two steps of the main thread, which may be deep in a client library for a minute. The
        # byte that announces a signal is written at once, and a thread of its own reads it.
        self._bytes, written = socket.socketpair()
        written.setblocking(False)
        signal.set_wakeup_fd(written.detach())
        threading.Thread(target=self._listen, name="signals", daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda _number, _frame: None)  # without a handler there is no byte

    def take_hangups(self, hung_up: Callable[[], None]) -> None:
        """From now on SIGHUP has `hung_up` called, and does not end the process. Call it in the main thread."""
        self.hung_up = hung_up
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)

    def _listen(self) -> None:
        while number := self._bytes.recv(1)[0]:
            if number == signal.SIGHUP:
                threading.Thread(target=self.hung_up, name="reload", daemon=True).start()
            if number not in (signal.SIGINT, signal.SIGTERM):
                continue
            if self.is_set():
                remove_temporary_directories()
                os._exit(128 + number)
            self.set()
            if self.patience == 0:
                self._leave("stopped")
            elif self.patience is not None:
                timer = threading.Timer(self.patience, self._give_up)
                timer.daemon = True
                timer.start()

    def _give_up(self) -> None:
        """End without waiting: as safe as a crash, since the offset is committed with the records or not at all."""
        self._leave("a server does not answer; stopping without waiting for it. Nothing is lost")

    def _leave(self, message: str) -> None:
        self.leaving()
        remove_temporary_directories()
        if logging.getLogger().handlers:
            _log.warning(message)
        else:
            os.write(2, f"{message}\n".encode())
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h")  # a live display hides the cursor
        os._exit(self._status)


def terminate_at_eof() -> None:
    """Send this process SIGTERM when its standard input ends: when the process that holds the other end is gone, even
    killed. A thread waits for that."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="standard input", daemon=True).start()
