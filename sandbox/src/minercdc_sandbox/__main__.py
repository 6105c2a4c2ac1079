"""The command `oracle-sandbox`, `minercdc sandbox` and `python -m minercdc_sandbox`: the sandbox in the foreground."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from minercdc_sandbox.server import serve


def main(arguments: Sequence[str] | None = None, name: str = "oracle-sandbox") -> None:
    """Serve in the foreground until SIGINT or SIGTERM, and print `ready HOST:PORT` once clients may connect. Sets up logging of
    warnings to stderr. Main thread only.

    :param arguments: of the command line, without the command's name; None: those of this process.
    :param name: of the command, for its help.
    :raises SystemExit: for wrong arguments and after --help, and as `serve`.
    """
    given = parser(name).parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    serve(
        given.host,
        given.port,
        given.seed,
        given.data,
        given.profile,
        max_string_size=given.max_string_size,
        certificate=given.tls_cert,
        key=given.tls_key,
    )


def parser(name: str) -> argparse.ArgumentParser:
    """The parser of the command line.

    :param name: of the command, for its help.
    """
    made = argparse.ArgumentParser(prog=name, description="An Oracle-compatible server for tests and demos.")
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    made.add_argument("--port", type=_port, default=1521, help="port; 0 for a free one (default: %(default)s)")
    made.add_argument(
        "--seed",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="SQL script to run first; may be given several times",
    )
    made.add_argument(
        "--data",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep the database there; without it, it ends with the process",
    )
    made.add_argument("--profile", default="23ai", help="release to imitate: 19c or 23ai (default: %(default)s)")
    made.add_argument(
        "--max-string-size",
        choices=("standard", "extended"),
        default="standard",
        help="of a new database; extended: VARCHAR2 and RAW up to 32767 bytes (default: %(default)s)",
    )
    made.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate in PEM; makes the port a TCPS port")
    made.add_argument("--tls-key", type=Path, metavar="FILE", help="its key, unless it is in the certificate's file")
    return made


def _port(text: str) -> int:
    if text.isdecimal() and int(text) < 1 << 16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is no port: 0 to 65535")


if __name__ == "__main__":
    main()
