"""The command `minercdc`, and `python -m minercdc`.

The imports below take half a second, so importing this module first sets the handlers of Ctrl-C and SIGTERM: the process ends
at once with the line `stopped` on standard error, and with status 0 for the commands of `_UNTIL_STOPPED`, else 130. Commands
that run until they are stopped replace these handlers (`cli.stopping`)."""

import gc
import os
import signal
import sys

_UNTIL_STOPPED = ("run", "lake", "sandbox", "kafka")  # their orderly end: status 0


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"stopped\n")
    os._exit(0 if sys.argv[1:2] and sys.argv[1] in _UNTIL_STOPPED else 130)


for _number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(_number, _end)

gc.disable()  # modules are no garbage: looking for some takes a tenth of the imports' time
from minercdc.cli import main  # noqa: E402

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
