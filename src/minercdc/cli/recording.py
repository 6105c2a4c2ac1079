"""`minercdc record` and `minercdc replay`: recording a mining session in a file, and decoding it again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from minercdc.cli.output import AsJson, ConfigFile, Verbose, errors, log_to, print_json
from minercdc.cli.stopping import Stop

if TYPE_CHECKING:
    from minercdc.operate.recording.recording import Recorded
    from minercdc.stream.contracts import Record


def record(
    config: ConfigFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file.")] = Path("minercdc-recording.gz"),
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds to record; by default until everything committed now has been read.", show_default=False
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Stop after about this number of rows of V$LOGMNR_CONTENTS.")] = 1_000_000,
    replace_values: Annotated[
        bool,
        typer.Option("--replace-values", help="Replace values of rows and user names by other values of the same form."),
    ] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Write a mining session from the stored offset on into a file, which `minercdc replay` decodes without the database.

    Nothing is delivered, stored or written to the database; the connector may run meanwhile.
    """
    stop = Stop(10.0)
    from minercdc.config.load import load_config
    from minercdc.errors import ConfigError
    from minercdc.operate.offsets.read import read_stored
    from minercdc.operate.recording.recording import Limits
    from minercdc.operate.recording.recording import record as make

    loaded = load_config(config)
    log_to(errors, verbose)
    stored = read_stored(loaded)
    if stored is None:
        raise ConfigError(
            [f"connector {loaded.identity.name} has no offset to record from"],
            hint="Run it first, or store an offset: minercdc offsets set CONFIG --scn N --yes.",
        )
    made = make(loaded, stored, output, Limits(seconds, rows), stop, replaced=replace_values)
    if as_json:
        print_json(_document(made, output))
    else:
        _say(made, output, replaced=replace_values)


def _document(made: Recorded, output: Path) -> dict[str, object]:
    ended = made.error
    return {
        "file": str(output),
        "rows": made.rows,
        "records": dict(sorted(made.tally.topics.items())),
        "complete": made.complete,
        "error": {"code": ended.code, "message": ended.message} if ended else None,
    }


def _say(made: Recorded, output: Path, *, replaced: bool) -> None:
    records = sum(made.tally.topics.values())
    sys.stdout.write(
        f"{output}: {made.rows} rows of V$LOGMNR_CONTENTS; the connector produces {records} records from them\n"
    )
    if made.error is not None:
        sys.stdout.write(f"the session ended with an error, which is recorded: {made.error}\n")
    elif not made.complete:
        sys.stdout.write("it ends before the last commit at its beginning\n")
    if not replaced:
        sys.stdout.write("it contains values of rows: --replace-values records replacements instead\n")


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `minercdc record` wrote.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only how the replay ends, no records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each record as JSON on one line.")] = False,
    verbose: Verbose = False,
) -> None:
    """Decode a recorded mining session: print topic, key and value of each record as the connector makes them, and end as it ended."""
    Stop(2.0)
    from minercdc.operate.recording.replaying import replay as decode

    log_to(errors, verbose)
    try:
        ended = decode(file, (lambda _: None) if quiet else _print_json if as_json else _print)
    except BrokenPipeError:  # of `| head`
        sys.stderr.close()
        return
    for difference in ended.differences:
        sys.stderr.write(f"not as recorded: {difference}\n")
    sys.stderr.write(f"{sum(ended.tally.topics.values())} records of {len(ended.tally.topics)} topics\n")
    if ended.error is not None:
        raise ended.error
    if ended.differences:
        raise SystemExit(1)


def _print(record: Record) -> None:
    texts = (
        record.topic,
        *("" if part is None else part.decode("utf-8", "backslashreplace") for part in (record.key, record.value)),
    )
    sys.stdout.write("\t".join(texts) + "\n")


def _print_json(record: Record) -> None:
    key, value = (None if part is None else part.decode("utf-8", "backslashreplace") for part in (record.key, record.value))
    sys.stdout.write(json.dumps({"topic": record.topic, "key": key, "value": value}, ensure_ascii=False) + "\n")
