"""Debezium's post processors: ReselectColumnsPostProcessor is `minercdc.lob.reselect` here."""

from __future__ import annotations

from collections.abc import Iterator

RESELECT = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
_OURS = "minercdc.lob.reselect"
_LIST = "post.processors."
_PACKAGE = ".processors."  # of Debezium's, and of most others', class names
# Option -> why it has no effect.
_IGNORED = {
    "reselect.null.values": "a null in redo is the value of the column, so the row is not read again",
    "reselect.use.event.key": "rows are found by ROWID or by key",
    "reselect.use.event.key.fields": "rows are found by ROWID or by key",
}


def take_post_processors(properties: dict[str, str], problems: list[str]) -> dict[str, str]:
    """Take the post processors out of flat properties, and put our own property in their place, unless that is given.

    :param problems: gets what is wrong with them, or not supported.
    :returns: the options without effect, each with the reason.
    """
    ignored: dict[str, str] = {}
    listed = "post.processors" in properties
    for name in [name.strip() for name in properties.pop("post.processors", "").split(",") if name.strip()]:
        given: dict[str, str] = {}
        options: dict[str, str] = {}
        for prefix in (f"{name}.", f"{_LIST}{name}."):  # as Debezium's manual has it, and as its transforms have it
            for full in [full for full in properties if full.startswith(prefix)]:
                option, value = full.removeprefix(prefix), properties.pop(full).strip()
                if options.setdefault(option, value) != value:
                    problems.append(f"{full}: given twice, as {given[option]} and as {full}")
                given.setdefault(option, full)
        kind = options.pop("type", "")
        if kind != RESELECT:
            problems.append(f"{name}.type: {kind or 'nothing'} is no post processor that is built in; only {RESELECT} is")
            continue
        reads = options.pop("reselect.unavailable.values", "true").lower() != "false"
        properties.setdefault(_OURS, "unavailable" if reads else "none")
        for option, value in options.items():
            if option in _IGNORED:
                ignored[given[option]] = _IGNORED[option]
            elif option == "reselect.error.handling.mode" and value.lower() == "warn":
                ignored[given[option]] = "a value that cannot be read stays the placeholder anyway"
            elif option == "reselect.error.handling.mode":
                problems.append(
                    f"{given[option]}: only WARN is supported; a value that cannot be read stays the placeholder"
                )
            elif option in ("reselect.columns.include.list", "reselect.columns.exclude.list"):
                problems.append(f"{given[option]}: not supported; {_OURS} is about all columns with large values")
            else:
                problems.append(f"{given[option]}: this post processor has no such option")
    problems.extend(_not_listed(properties, listed=listed))
    return ignored


def _not_listed(properties: dict[str, str], *, listed: bool) -> Iterator[str]:
    """Take out the options of post processors that are not listed; a line for each of these.

    :param listed: the list is there.
    """
    kinds = {full: kind for full, kind in properties.items() if not full.startswith(("transforms.", "predicates."))}
    names = [full.removesuffix(".type") for full, kind in kinds.items() if full.endswith(".type") and _PACKAGE in kind]
    for full in properties:
        if full.startswith(_LIST) and (name := full.removeprefix(_LIST).partition(".")[0]) and f"{_LIST}{name}" not in names:
            names.append(f"{_LIST}{name}")
    for prefix in dict.fromkeys(names):
        for full in [full for full in properties if full.startswith(f"{prefix}.")]:
            del properties[full]
        name = prefix.removeprefix(_LIST)
        what = "does not list" if listed else "is not given, and has to list"
        yield f"{prefix}.*: post.processors {what} {name}, so these properties have no effect; set post.processors={name} to use them"
