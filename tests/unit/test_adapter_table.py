"""docs/capture/README.md says of each adapter what the conformance suite holds it to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conformance.abilities import ABILITIES

from minercdc.capture.registry import adapter_factory

ADAPTERS = ("logminer", "logminer_unbuffered", "flashback", "olr", "fors_olr", "txlog")  # in the order of the table
PAGES = Path(__file__).parents[2] / "docs" / "capture"
ROWS = {
    "before images": "before_images",
    "deletes": "deletes",
    "inserts apart from updates": "inserts",
    "every image in a transaction": "every_image",
    "every transaction of a row": "every_transaction",
    "tables without a key": "keyless",
    "order within a transaction": "order_within_transaction",
    "SCN goes on without changes": "idle_scn",
}


_HISTORY = "conformance/test_conformance.py::test_the_history_comes_in_commit_order"
_TXLOG, _FLASHBACK, _OLR, _FORS = (
    *("sandbox_capture/test_txlog.py::", "sandbox_capture/test_flashback.py::"),
    *("sandbox_capture/test_olr.py::", "sandbox_capture/test_fors_tables.py::"),
)
_MINED, _LOBS = "sandbox_capture/test_capture.py::", "sandbox_capture/test_lobs.py::test_values_of_every_size"
_PDBS = "sandbox_capture/test_several_pdbs.py::"
_REFUSED = "unit/config/test_load.py::test_several_pluggable_databases_go_with_logminer_only"
_MINER, _REPLICATORS = ("logminer", "logminer_unbuffered"), ("olr", "fors_olr")
_NO_SECONDARY = ("logminer_unbuffered", "flashback", "txlog")


def _each(evidence: str, *adapters: str) -> dict[str, str]:
    return dict.fromkeys(adapters, evidence)


_COST = "conformance/test_load_and_latency.py::"
_EVERY = f"{_COST}test_open_transactions_are_looked_up_every_three_seconds"
_QUIET, _BUSY = (
    f"unit/capture/logminer/test_waiting.py::{name}"
    for name in ("test_an_idle_database_is_answered_at_once_all_the_time", "test_a_busy_database_is_read_once_an_interval")
)
EVIDENCE: dict[str, dict[str, str]] = {
    "reads": _each(_HISTORY, *ADAPTERS),
    "order of transactions": _each(_HISTORY, *ADAPTERS),
    "privileges of the connector": {
        **_each("sandbox_capture/test_grants.py::test_the_grants_of_plan_are_enough", *_MINER),
        "flashback": "e2e/test_flashback.py::test_select_and_flashback_are_enough",
        **_each("e2e/test_replicators.py::test_three_views_and_the_tables_are_enough", *_REPLICATORS),
        "txlog": "e2e/test_txlog.py::test_the_page_line_by_line",
    },
    "supplemental logging": {
        **_each("unit/test_adapter_table.py::test_what_is_needed_is_what_check_looks_at", *ADAPTERS),
        "fors_olr": "sandbox_capture/test_fors_olr.py::test_a_column_that_is_not_listed_is_unavailable",
    },
    "load on the database": {
        **_each(f"{_COST}test_logminer_is_started_once_a_pass", *_MINER),
        "flashback": f"{_COST}test_each_window_scans_each_table_once",
        "olr": f"{_COST}test_olr_asks_which_transactions_are_open_and_nothing_else {_EVERY}",
        "fors_olr": f"{_COST}test_fors_olr_asks_which_transactions_are_open_and_the_dictionary {_EVERY}",
        "txlog": f"{_COST}test_a_poll_queries_each_view_once_by_an_indexed_column",
    },
    "latency": {
        **_each(f"{_COST}test_redo_is_noticed_without_waiting_for_the_poll {_QUIET} {_BUSY}", *_MINER),
        "flashback": f"{_COST}test_windows_begin_an_interval_apart_or_rest_as_long_as_they_read",
        "olr": f"{_COST}test_olr_requests_no_data_but_takes_what_the_server_pushes",
        "fors_olr": f"{_COST}test_fors_olr_waits_for_the_log_to_be_archived",
        "txlog": f"{_COST}test_polls_are_an_interval_apart",
    },
    "goes back": {
        **_each("e2e/test_snapshot_modes.py::test_when_needed_takes_a_new_snapshot_once_redo_is_gone", *_MINER),
        "flashback": f"{_FLASHBACK}test_undo_that_is_really_overrun",
        "olr": f"{_OLR}test_what_hinders_the_start_is_named",
        "fors_olr": "sandbox_capture/test_fors_olr.py::test_only_archived_logs_are_read",
        "txlog": "sandbox_capture/test_txlog_installation.py::test_an_scn_from_before_the_end_of_the_installation_is_refused",
    },
    "DDL": {
        **_each(f"{_MINED}test_ddl_is_followed_in_its_place", *_MINER),
        "flashback": "e2e/test_flashback.py::test_ddl_demotes_a_table_and_it_joins_again_with_its_deletes",
        "olr": f"{_OLR}test_ddl_is_followed",
        "fors_olr": "e2e/test_replicators.py::test_a_table_that_was_altered_is_read_again_with_its_deletes",
        "txlog": f"{_TXLOG}test_a_changed_table_comes_with_its_new_columns_once_it_is_installed_again",
    },
    "LOBs": {
        **_each(_LOBS, *_MINER),
        "flashback": "checker/test_flashback.py::test_both_adapters_fold_to_what_was_committed",
        "olr": f"{_OLR}test_the_same_events_as_logminer",
        "fors_olr": f"{_FORS}test_lobs_are_joined_from_their_pieces",
        "txlog": f"{_TXLOG}test_large_values_come_as_they_are_stored",
    },
    "several PDBs in one connector": {
        **_each(f"{_PDBS}test_tables_of_one_name_have_topics_of_their_own_and_one_order_of_commits", *_MINER),
        **_each(_REFUSED, "flashback", *_REPLICATORS, "txlog"),
    },
    "reads elsewhere than in the source": {
        "logminer": " ".join(
            f"sandbox_capture/{file}.py::test_changes_come_as_they_were_made_once_their_log_is_{arrives}"
            for file, arrives in (("test_physical_standby", "applied"), ("test_downstream", "received"))
        ),
        **_each("unit/config/test_secondary.py::test_what_does_not_go_with_it_is_refused_by_name", *_NO_SECONDARY),
        **_each(_HISTORY, *_REPLICATORS),
    },
    "several redo threads (RAC)": {
        **_each("sandbox_capture/test_redo_threads.py::test_two_redo_threads_are_read_as_one_history", *_MINER),
        "flashback": "checker/test_flashback.py::test_both_adapters_fold_to_what_was_committed",
        **_each("", *_REPLICATORS),  # "no" by OpenLogReplicator's own word, and not known of the other
        "txlog": "checker/test_txlog.py::test_the_last_images_are_the_tables",
    },
}
"""Row -> adapter -> the test that a cell is backed by, or several with blanks between, where it is none of `ROWS`."""


def table() -> dict[str, dict[str, str]]:
    """Row -> adapter -> cell."""
    lines = [line for line in (PAGES / "README.md").read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    adapters = [name.strip("`") for name in rows[0][1:]]
    return {row[0]: dict(zip(adapters, row[1:], strict=True)) for row in rows[2:]}


def test_every_adapter_has_a_column_and_every_cell_a_text() -> None:
    for row, cells in table().items():
        assert list(cells) == list(ADAPTERS), row
        assert all(cells.values()), row


@pytest.mark.parametrize("row", ROWS)
def test_what_the_suite_expects(row: str) -> None:
    for adapter, cell in table()[row].items():
        assert re.match(r"\w+", cell) is not None
        assert cell.split(":")[0] == ("yes" if getattr(ABILITIES[adapter], ROWS[row]) else "no"), adapter


def test_every_ability_has_a_row() -> None:
    assert set(ROWS.values()) == set(next(iter(ABILITIES.values())).__dataclass_fields__)


def test_what_is_needed_is_what_check_looks_at() -> None:
    for adapter, cell in table()["supplemental logging"].items():
        assert (cell != "none") == adapter_factory(adapter).reads_redo


def test_every_cell_is_backed_by_a_test() -> None:
    """A row is checked against the suite, or each of its cells has a test of its own."""
    tests = Path(__file__).parents[1]
    assert set(table()) - {""} == {*ROWS, *EVIDENCE}
    for row, cells in EVIDENCE.items():
        assert sorted(cells) == sorted(ADAPTERS), row
        for adapter, evidence in cells.items():
            if not evidence:
                assert table()[row][adapter] in ("no", "not known")
                continue
            for test in evidence.split():
                file, _, name = test.partition("::")
                assert f"def {name}(" in (tests / file).read_text(), f"{row} of {adapter}: {test}"
