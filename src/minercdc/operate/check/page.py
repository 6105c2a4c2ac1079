"""Prints findings, and the page of all rules and grants, which is docs/checks.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minercdc.config.page_lines import wrapped
from minercdc.operate.check.catalogue import BY_NAME, RULES
from minercdc.oracle import grants
from minercdc.oracle.finding import Finding
from minercdc.oracle.grants import Grant

_INTRODUCTION = """\
# Checks and grants

Look up the rule of a finding, or a privilege. Made by `minercdc check --rules`; do not edit.

`minercdc check CONFIG` prints each rule that does not hold, with the problem, the purpose of the rule, and the statement that repairs it:

| word | means |
|---|---|
| `missing` | capture cannot start, or a table is suspended |
| `advice` | capture works with less, or is at risk |
| `unknown` | the rule could not be examined; the statement lets it be |

Exit status 3: capture cannot start. The configured adapter and options determine which rules are examined. Nothing is written to Oracle or
Kafka; to find out whether tables may be locked, they are briefly locked in ROW SHARE mode. If privileges for capture
are missing, only those are listed. On Amazon RDS (the user RDSADMIN is there) statements are those of `rdsadmin`.

## Rules
"""
_GRANTS = """
## Least privilege

What each privilege is for. `SELECT_CATALOG_ROLE` stands for all grants on views; without it, each view by itself does. `minercdc plan CONFIG`
prints the statements for a configuration; to a user without a session in the PDB, first `CREATE SESSION` and `SET CONTAINER`. A common user
(`C##...`) gets them with `CONTAINER=ALL`: LogMiner runs in the root, the tables are in the PDB.
"""


def lines_of(finding: Finding) -> Iterator[str]:
    """A finding, for people, in three lines without line ends: `missing`, `advice` or `unknown` and what is wrong, what its
    rule is for, and what repairs it. Its rule is one of the catalogue."""
    yield f"{finding.word:7}  {finding.problem}"
    rule = BY_NAME[finding.rule]
    yield f"         {rule.name}: {rule.purpose}"
    yield f"         {finding.fix}"


def document_of(finding: Finding) -> dict[str, str]:
    """A finding as a JSON object: `rule`, `severity` (`missing`, `suspends`, `advice`, `unknown`), `problem`, `purpose` and `fix`."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.name.lower(),
        "problem": finding.problem,
        "purpose": BY_NAME[finding.rule].purpose,
        "fix": finding.fix,
    }


def rules_document() -> list[dict[str, str]]:
    """All rules: `rule`, `holds` (when), `purpose` and `repair`."""
    return [{"rule": one.name, "holds": one.holds, "purpose": one.purpose, "repair": one.repair} for one in RULES]


def checks_page() -> str:
    """The text of docs/checks.md, made of the catalogue and `oracle.grants`."""
    lines = [
        _INTRODUCTION,
        f"{len(RULES)} rules.",
        "",
        "| rule | holds when | purpose | repaired by |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{rule.name}` | {rule.holds} | {rule.purpose} | `{rule.repair}` |" for rule in RULES]
    lines += [_GRANTS, "| privilege | for | needed |", "|---|---|---|"]
    lines += _lines("always", [grants.CREATE_SESSION])
    lines += _lines("with `database.pdb.name`", [grants.SET_CONTAINER])
    lines += _lines("`logminer`, `logminer_unbuffered`", [grants.LOGMINING, grants.DBMS_LOGMNR, *grants.MINING_VIEWS])
    lines += _lines(
        "`capture.mode=downstream`, in that database", [grants.LOGMINING, grants.DBMS_LOGMNR, *grants.DOWNSTREAM_VIEWS]
    )
    lines += _lines("several instances", grants.SEVERAL_INSTANCES)
    lines += _lines("`log.mining.strategy=redo_log_catalog`", [grants.DBMS_LOGMNR_D])
    lines += _lines("`minercdc.log.mining.flush.table` that is not there", [grants.CREATE_TABLE])
    lines += _lines("snapshots", [grants.SELECT_TABLE, grants.FLASHBACK_TABLE])
    lines += _lines("`snapshot.locking.mode=shared` and no `SELECT` on each table", [grants.LOCK_ANY_TABLE])
    lines += _lines("SELECTs of one's own; `flashback`", [grants.DBMS_FLASHBACK])
    lines += _lines("`snapshot.max.threads` above 1, to be faster", grants.EXTENT_VIEWS)
    lines += _lines("nothing else fails without it", [grants.CATALOG_ROLE, *grants.OPTIONAL_VIEWS])
    return wrapped("\n".join(lines)) + "\n"


def _lines(when: str, listed: Iterable[Grant]) -> Iterator[str]:
    for one in listed:
        yield f"| `{one.privilege}`{f' on `{one.on}`' if one.on else ''} | {one.purpose} | {when} |"
