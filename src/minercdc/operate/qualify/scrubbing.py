"""Takes names and secrets out of what is given away: hosts, services, databases, users, files, other schemas.

A name is replaced wherever it stands as a whole word, in any case, by the same word everywhere: so a recording can still be replayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from minercdc.capture.logminer.session.row import LogMinerRow, OpCode
from minercdc.operate.recording.file import RecordingWriter, lines_of
from minercdc.operate.recording.tap import MINED
from minercdc.stream.temporary import temporary_directory

HIDDEN: Final = "********"
_PLAIN: Final = frozenset({"SYS", "SYSTEM", "PUBLIC", "CDB$ROOT", "UNKNOWN"})
"""Names that every database has."""
_SHORTEST: Final = 2
_FILE = re.compile(r"(?:\+[A-Za-z]\w*/|/|[A-Za-z]:\\)[^\s'\"]+")
# Members of a recording's lines that are this program's own words.
_KEPT: Final = frozenset({"kind", "version", "minercdc", "path", "on", "to", "sha256", "keys"})
_FIELDS = {name: place for place, name in enumerate(LogMinerRow._fields)}
_OTHER: Final = "OTHER"


class Scrubber:
    """Replaces names and secrets in texts and documents.

    :param names: of hosts, services, databases, users; of no more than one letter they are left.
    :param secrets: passwords and the like, replaced in their own case only.
    """

    def __init__(self, names: Iterable[str], secrets: Iterable[str] = ()) -> None:
        found = {name.strip('"').upper() for name in names}
        wanted = sorted(
            (one for one in found if len(one) >= _SHORTEST and one not in _PLAIN), key=lambda one: (-len(one), one)
        )
        self._words = {name: f"NAME{number}" for number, name in enumerate(wanted, 1)}
        self._words |= {re.escape(name): word for name, word in self._words.items()}  # as patterns of tables have them
        any_name = "|".join(map(re.escape, sorted(self._words, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![\w$#])(?:{any_name})(?![\w$#])", re.IGNORECASE) if wanted else None
        hidden = "|".join(map(re.escape, sorted({one for one in secrets if one}, key=len, reverse=True)))
        self._secrets = re.compile(rf"(?<!\w)(?:{hidden})(?!\w)") if hidden else None
        self._files: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text without names and secrets."""
        text = self._secrets.sub(HIDDEN, text) if self._secrets else text
        return self._pattern.sub(lambda found: self._words[found[0].upper()], text) if self._pattern else text

    def document(self, value: Any) -> Any:
        """JSON with all its texts replaced, and names of files by others."""
        match value:
            case str():
                return self._file(value) if _FILE.fullmatch(value) else self.text(value)
            case list() | tuple():
                return [self.document(one) for one in value]
            case dict():
                return {self.text(name): self.document(one) for name, one in value.items()}
        return value

    def line(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """A line of a recording, as `document`; the members of `_KEPT` stay, and the kind of the offset."""
        found = {name: one if name in _KEPT else self.document(one) for name, one in line.items()}
        if isinstance(offset := line.get("offset"), dict):
            found["offset"]["kind"] = offset.get("kind")
        return found

    def _file(self, name: str) -> str:
        return self._files.setdefault(name, f"/redo/log{len(self._files) + 1}")


def scrubbed_recording(source: Path, target: Path, scrubber: Scrubber, schema: str, keys: str = "") -> None:
    """Write a recording without names, and without what is not of one schema.

    :param source: a recording that `minercdc record` can have made.
    :param target: one that is there is replaced.
    :param keys: the digest of its topics and keys, where they have other names now; '' for the recorded one.
    :raises ConfigError, OSError: as `RecordingWriter` and `lines_of`.
    """
    with temporary_directory("minercdc-qualify-") as directory, open(Path(directory) / "lines", "w+b") as spool:
        lines = _scrubbed((line for line, _, _ in lines_of(source, spool)), scrubber, schema)
        head = next(lines)
        writer = RecordingWriter(target, {name: one for name, one in head.items() if name != "kind"})
        try:
            for line in lines:
                if line["kind"] == "end":
                    end = {name: one for name, one in line.items() if name not in ("kind", "sha256")}
                    writer.finish({**end, "keys": keys or end["keys"]})
                    return
                writer.write(line)
        finally:
            writer.abandon()


def _scrubbed(lines: Iterator[Mapping[str, Any]], scrubber: Scrubber, schema: str) -> Iterator[dict[str, Any]]:
    mined: set[int] = set()
    for line in lines:
        if line["kind"] == "call" and MINED in line["sql"]:
            mined.add(line["call"])
        if line["kind"] == "rows" and line["call"] in mined:
            line = {**line, "rows": [_without_others(row, schema) for row in line["rows"]]}
        yield scrubber.line(line)


def _without_others(row: Sequence[Any], schema: str) -> list[Any]:
    """A row of redo without names of users; one of another schema without statement and names, too."""
    found = list(row)
    for name in ("user", "client_id"):
        place = _FIELDS[name]
        if found[place] not in (None, "", "UNKNOWN"):
            found[place] = _OTHER
    owner = found[_FIELDS["owner"]]
    if owner not in (None, "", "UNKNOWN", schema):
        found[_FIELDS["owner"]], found[_FIELDS["table"]] = _OTHER, _OTHER
        found[_FIELDS["sql"]] = found[_FIELDS["info"]] = None
        if found[_FIELDS["code"]] == OpCode.DDL:
            found[_FIELDS["code"]] = int(OpCode.UNSUPPORTED)  # without its text it is no DDL that could be followed
    elif owner in (None, "", "UNKNOWN") and found[_FIELDS["code"]] == OpCode.DDL:
        found[_FIELDS["sql"]], found[_FIELDS["code"]] = None, int(OpCode.UNSUPPORTED)
    return found
