"""A process that has imported what the commands of a program import, has made their parser, and forks for each command: see `tests.forked`.

Takes the number of its socket and the program, `minercdc` or `minercdc_sandbox`. Each request is a JSON object `arguments`,
`environment`, `directory` with two descriptors, for standard output and standard error. It answers with `{"pid": ..}`, and with `{"pid": .., "status": ..}` when that process has ended. It ends with its
socket's other end; the commands do not end with it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import socket
import sys
from types import ModuleType

_IMPORTED = {
    "minercdc_sandbox": (),
    "minercdc": (
        "operate.bundle",
        "capture.txlog.installation",
        "capture.txlog.printing",
        "pipeline.start_checks",
        "cli.display",
        "pipeline.connector",
        "operate.check.start_plan",
        "relay.server.process",
        "operate.offsets.move",
        "operate.signals.answers",
        "operate.offsets.read",
        "operate.tail",
        "operate.first_configuration",
        "operate.recording.recording",
        "operate.recording.replaying",
        "operate.verify",
        # What a connector's start imports: its adapter and sink by their names.
        "capture.flashback.adapter",
        "capture.fors_olr.adapter",
        "capture.logminer.adapter",
        "capture.olr.adapter",
        "capture.txlog.adapter",
        "cli.next_steps",
        "operate.check.config_imports",
        "operate.signals.send",
        "sinks.kafka.refused_settings",
        "sinks.opening",
    ),
}
_NEEDED = {
    "topic.prefix": "x",
    "database.hostname": "x",
    "database.user": "x",
    "database.password": "x",
    "database.dbname": "x",
    "minercdc.kafka.bootstrap.servers": "x",
}


def warm(module: ModuleType) -> None:
    """Do once what each command would do first: make the parser of all commands, and the validators of all properties."""
    if module.__name__ == "minercdc.__main__":
        importlib.import_module("minercdc.cli").parser()
        importlib.import_module("minercdc.config.load").parse_properties(_NEEDED)


def serve(link: socket.socket, entry: ModuleType) -> bool:
    """Until the other end is closed, or, in a forked process, until it is ready to run the command: then it returns True."""
    children: dict[int, int] = {}
    while True:
        for ready in select.select([link.fileno(), *children], [], [])[0]:
            if ready in children:
                pid = children.pop(ready)
                os.close(ready)
                _, status = os.waitpid(pid, 0)
                _send(link, pid=pid, status=os.waitstatus_to_exitcode(status))
                continue
            request, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 2)
            if not request:
                return False
            pid = os.fork()
            if pid == 0:
                for one in children:
                    os.close(one)
                link.close()
                _become(entry, json.loads(request), *descriptors)
                return True
            for one in descriptors:
                os.close(one)
            children[os.pidfd_open(pid)] = pid
            _send(link, pid=pid)


def _send(link: socket.socket, **message: int) -> None:
    try:
        link.send(json.dumps(message).encode())
    except OSError:  # the tests have ended
        os._exit(0)


def _become(entry: ModuleType, request: dict[str, object], output: int, errors: int) -> None:
    """What Popen and the interpreter do before `python -m` runs the program."""
    os.setsid()
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    os.chdir(str(request["directory"]))
    environment, arguments = request["environment"], request["arguments"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(entry.__file__), *arguments]
    sys.modules["__main__"] = entry


if __name__ == "__main__":
    program = sys.argv[2]
    module = importlib.import_module(f"{program}.__main__")
    for name in _IMPORTED[program]:
        importlib.import_module(f"{program}.{name}")
    warm(module)
    gc.freeze()  # a collection would copy the pages that the processes share
    if serve(socket.socket(fileno=int(sys.argv[1])), module):
        module.main()
