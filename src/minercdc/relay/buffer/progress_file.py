"""The files of a relay besides its buffer: the offset of its source, and the file of the newest window's SCN.

offset.json    {"scn": "5984592768094", "offset": ".."}    stored after the windows up to this SCN are published
max.scn        5984592768094:Thu Dec 13 00:54:07 UTC 2012  as of Databus; for people, and for a start without an offset
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from minercdc.errors import RelayError
from minercdc.sinks.durable_files import file_errors, replace_file

_MAX_SCN = re.compile(r"(\d{1,20}):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a relay had read when it stored this.

    :param scn: of the newest window; -1 when there was none.
    :param offset: text, None when the relay reads from another relay.
    """

    scn: int
    offset: str | None


class OffsetFile:
    """The file `offset.json`: where what fills the relay's buffer goes on after a restart."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Stored | None:
        """What was stored last; None when nothing was. Raises RelayError when the file cannot be read, or is damaged."""
        try:
            document = json.loads(self._path.read_bytes())
            return Stored(int(document["scn"]), document["offset"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RelayError(
                f"{self._path.absolute()} cannot be read: {error!r}",
                hint="Restore it; or remove the relay's directory to start over: its clients have to bootstrap then.",
            ) from None

    def save(self, stored: Stored) -> None:
        """Replace the file in one step; its directory is made if need be. Raises SinkError when it cannot be written."""
        content = json.dumps({"scn": str(stored.scn), "offset": stored.offset}).encode()
        with file_errors(f"writing {self._path}"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._path, content)


class MaxScnFile:
    """The file with the SCN of the newest window, `<scn>:<time>`, for people and for a start without an offset."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> int | None:
        """The SCN; None when there is no file. Raises RelayError when it cannot be read, or holds none."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RelayError(f"{self._path.absolute()} cannot be read: {error.strerror}") from None
        found = _MAX_SCN.fullmatch(text.strip())
        if found is None:
            raise RelayError(
                f"{self._path.absolute()} does not hold <scn>:<time>, but {text[:60]!r}",
                hint="Write the SCN into it that the relay shall begin after, or remove it.",
            )
        return int(found[1])

    def save(self, scn: int, seconds: float | None = None) -> None:
        """Replace the file in one step; its directory is made if need be.

        :param seconds: time since the epoch, default the present.
        :raises SinkError: it cannot be written.
        """
        when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(seconds))
        with file_errors(f"writing {self._path}"):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._path, f"{scn}:{when}".encode())
