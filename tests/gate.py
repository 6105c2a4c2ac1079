"""What `make test` leaves out: ``-p tests.gate`` deselects these tests, and ``make test-all`` runs them.

A test is left out when a cheaper one of the gate fails for the same fault, when it repeats a rule with other seeds or examples, or when what
it tests does not change with the product (a driver's own suite against the sandbox). Each entry is the beginning of test ids, with the
reason, which names what the gate runs in their place.

The processes of a run take the dearest files first, by `tests/durations.json`, so that they end together. The files of tests/spark are
one scope: a second session would cost a minute of CPU to warm up.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.durations import of_file, recorded
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]

LEFT_OUT: Mapping[str, str] = {
    # Servers of the tests' own, which change rarely: sandbox/** runs them (tests/changed.py).
    "sandbox/tests/": "pure tests, drivers of Java, Go and Python; captures of the gate run on the sandbox",
    # Seeds and mutations.
    "tests/checker/test_checker.py::test_a_missing_rule_is_found_out": "mutations of the checker: they test the checker",
    "tests/checker/test_signals.py::test_a_missing_rule_is_found_out": "mutations of the checker",
    "tests/checker/test_demotion.py": "seeds; test_flashback.py of tests/sandbox_capture has each rule",
    "tests/checker/test_flashback.py": "seeds; the conformance suite runs the adapter",
    "tests/checker/test_fors_olr.py": "seeds; the conformance suite runs the adapter",
    "tests/checker/test_olr.py": "seeds; the conformance suite runs the adapter",
    "tests/checker/test_txlog.py": "seeds; the conformance suite runs the adapter",
    "tests/checker/test_same_history.py": "seeds; the conformance suite has one history for all adapters",
    "tests/checker/test_kept.py": "seeds; tests/unit/capture/logminer/test_kept_kills.py kills at every step",
    "tests/simulate/test_simulate.py::test_a_rule_that_is_missing_is_found": "mutations of the simulation: they test the simulation",
    "tests/simulate/test_simulate.py::test_every_history_is_right[1]": "further seeds",
    "tests/simulate/test_simulate.py::test_every_history_is_right[2]": "further seeds",
    "tests/simulate/test_simulate.py::test_every_history_is_right[3]": "further seeds",
    "tests/simulate/test_simulate.py::test_a_failing_history_is_made_smaller": "a tool of the simulation",
    "tests/simulate/test_oracle_model.py": "holds the simulation's model to the sandbox; neither is the product",
    "tests/simulate/test_kafka_model.py": "holds the simulation's model to a broker; neither is the product",
    "tests/torture/": "random kills and minutes of work; tests/e2e kills once at each boundary",
    # Debezium in Java.
    "tests/parity/test_comments.py": "one case with Debezium is run: test_parity.py, logminer",
    "tests/parity/test_converters.py": "tests/unit/messages/formats/test_golden.py holds the bytes that were compared",
    "tests/parity/test_migration.py": "tests/unit/operate has each form of an offset",
    "tests/parity/test_transforms.py": "Connect's own classes; tests/unit/messages/transforms has what they gave",
    "tests/parity/test_olr.py": "tests/sandbox_capture/test_olr.py compares the events",
    "tests/parity/test_parity.py::test_the_same_messages[1": "further configurations of the case that is run",
    "tests/parity/test_parity.py::test_the_same_messages[c": "further configurations of the case that is run",
    "tests/parity/test_parity.py::test_the_same_messages[f": "further configurations of the case that is run",
    "tests/parity/test_parity.py::test_the_same_messages[logminer_": "further configurations of the case that is run",
    "tests/parity/test_parity.py::test_the_same_messages[t": "further configurations of the case that is run",
    "tests/parity/test_parity.py::test_the_same_messages[v": "further configurations of the case that is run",
    # The capture on the sandbox: one case of each rule.
    "tests/sandbox_capture/test_driver_codes.py": "each code at each place; tests/unit/oracle has the table",
    "tests/sandbox_capture/test_faults.py::test_each_code_is_what_the_table_says": "each code at each place; tests/unit/oracle has the table",
    "tests/sandbox_capture/test_faults.py::test_what_does_not_pass_ends_with_its_code": "each code at each place; tests/unit/oracle has the table",
    "tests/sandbox_capture/test_fors_olr.py::test_transactions_with_the_same_commit_scn": "sizes; the conformance suite has commits at one SCN",
    "tests/sandbox_capture/test_fors_olr.py::test_every_style_of_servers": "styles; the conformance suite runs three of them",
    "tests/sandbox_capture/test_fors_olr.py::test_hostile_bytes_all_along": "tests/unit/capture/fors_olr has each damaged message",
    "tests/sandbox_capture/test_fors_tables.py::test_lobs_are_joined_from_their_pieces[10": "larger sizes of a case that is run",
    "tests/sandbox_capture/test_txlog_installation.py::test_it_can_be_repeated_after_it_broke_off_anywhere": "a kill at every statement",
    "tests/sandbox_capture/test_txlog_installation.py::test_the_126th_table_has_a_bit_and_the_next_one_has_none": "a bound",
    "tests/sandbox_capture/test_generated_types.py": "generated values; tests/sandbox_capture/test_types.py has every type",
    "tests/sandbox_capture/test_several_pdbs_signals.py": "test_several_pdbs.py has the stream, tests/unit/signals the signals",
    # All processes: one test per promise of the README.
    "tests/e2e/test_adapter_change.py": "the conformance suite goes on from every position of a family",
    "tests/e2e/test_avro.py::test_a_registry_that_is_away_is_waited_for": "tests/unit/messages/formats/test_registries.py",
    "tests/e2e/test_broker_failures.py::test_a_broker_that_comes_up_later_is_found": "the broker that is killed in the middle is run",
    "tests/e2e/test_examples.py::test_every_connector_runs": "every example is loaded by tests/unit/config; the README's is run",
    "tests/e2e/test_examples.py::test_every_signal_of_every_channel_is_answered": "tests/e2e/test_signals.py has the channels",
    "tests/e2e/test_first_lake.py": "Spark six times; tests/spark has what each command does",
    "tests/e2e/test_forked.py": "tests a tool of the tests",
    "tests/e2e/test_formats.py::test_every_example_writes_its_format": "tests/unit/messages/formats has their bytes",
    "tests/e2e/test_formats.py::test_apicurios_registry_by_its_own_api": "tests/unit/messages/formats/test_registries.py",
    "tests/e2e/test_formats.py::test_files_that_protobuf_schemas_import_can_be_references": "tests/unit/messages/formats/test_registries.py",
    "tests/e2e/test_helm.py": "compiles Helm; tests/unit/deploy/test_chart.py renders the chart by Helm's engine",
    "tests/e2e/test_network_cut.py": "minutes of waiting; the frozen and the killed owner of test_standby.py are run",
    "tests/e2e/test_qualify.py::test_a_given_schema_gets_tables_and_loses_them": "the run that is killed in a schema of its own is run",
    "tests/e2e/test_qualify.py::test_what_another_run_uses_is_left_alone_and_a_stopped_run_cleans_up": "the run that is killed in a schema of its own is run",
    "tests/e2e/test_recording.py": "tests/unit/operate; a recording is a tool for support",
    "tests/e2e/test_relay.py::test_killed_anywhere_each_client_equals_the_table_as_of_its_window[mapped]": "the other buffer is run",
    "tests/e2e/test_relay.py::test_a_replicator_fills_a_relay": "the sink is the same for all adapters",
    "tests/e2e/test_relay.py::test_a_log_of_transactions_fills_a_relay": "the sink is the same for all adapters",
    "tests/e2e/test_relay.py::test_other_adapters_fill_a_relay": "the sink is the same for all adapters",
    "tests/e2e/test_replicators.py": "tests/conformance and tests/sandbox_capture run both adapters",
    "tests/e2e/test_secrets.py::test_the_lake": "a Spark of its own; while it runs and the relay are run",
    "tests/e2e/test_secrets.py::test_help_shows_no_value_of_the_environment": "all commands; a text",
    "tests/e2e/test_several_pdbs.py::test_a_recording_of_both_is_replayed_as_it_is_delivered": "a tool for support",
    "tests/e2e/test_snapshot_modes.py::test_a_snapshot_over_four_connections_goes_on_after_a_kill_and_is_what_was_there": "tests/sandbox_capture/test_snapshot.py",
    "tests/e2e/test_standby.py::test_one_of_several_takes_over": "one owner and one standby are run",
    "tests/e2e/test_stop.py::test_during_our_imports": "signals at other moments are run",
    "tests/e2e/test_stop.py::test_servers_while_they_serve": "tests/e2e/test_configuration.py ends both servers",
    "tests/e2e/test_stop.py::test_the_lake": "a Spark of its own",
    "tests/e2e/test_transforms.py::test_every_example_keeps_its_promise": "tests/unit/messages/transforms",
    "tests/e2e/test_wheels.py": "builds both wheels and installs them; the release does so",
    "tests/e2e/test_within_pdb.py::test_every_change_comes_once_over_kills_and_log_switches[logminer_unbuffered]": "the other mode is run",
    # The lake on real Spark: one case of each rule.
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1003]": "further seeds",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1004]": "further seeds",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1005]": "further seeds",
    "tests/checker/test_signals.py::test_snapshots_among_changes_leave_what_is_there[5001]": "further seeds",
    "tests/checker/test_signals.py::test_snapshots_among_changes_leave_what_is_there[5002]": "further seeds",
    "tests/e2e/test_formats.py::test_protobuf_records_equal_those_of_a_json_connector": "test_avro.py compares the records of a format; tests/unit/messages has Protobuf's bytes",
    "tests/spark/test_direct.py::test_segments_that_were_read_are_removed_when_retention_says_so": "tests/unit/sinks has the retention of segments",
    "tests/spark/test_direct.py::test_a_checkpoint_of_other_segments_is_refused": "a refusal; tests/unit/sinks has the marks of segments",
    "tests/spark/test_direct.py::test_tables_of_one_name_in_two_databases_are_two": "test_lake_several_pdbs.py, and tests/unit/lake",
    "tests/spark/test_lake_ddl.py::test_keys_that_one_statement_shifts_are_all_there": "test_lake_old_keys.py has keys that move",
    "tests/spark/test_lake_ddl.py::test_a_column_that_is_dropped_and_added_again_is_another_one": "tests/unit/lake/test_columns.py has it, killed at each step",
    "tests/spark/test_lake_ddl.py::test_values_that_redo_does_not_hold_stay_as_they_are_in_the_lake_or_came_before": "a table of which redo holds the key only is run",
    "tests/spark/test_lake_ddl.py::test_a_log_without_a_commit_is_no_table": "every step of a first minute that is killed; run at night, too",
    "tests/spark/test_lake_ddl.py::test_a_key_that_is_added_after_the_rows_loses_none_of_them": "test_lake_old_keys.py",
    "tests/spark/test_lake_consistency.py::test_a_table_that_was_not_merged_is_completed_from_the_change_log": "tests/unit/lake/test_pending.py",
    "tests/spark/test_lake_gaps.py": "tests/unit/lake/test_gaps.py has each cause",
    "tests/spark/test_lake_snapshot.py::test_a_table_that_cannot_be_read_is_named_and_one_that_is_not_ours_is_left_alone": "the other tables and their refusals; tests/unit/lake/test_oracle_source.py",
    "tests/spark/test_lake_verify.py::test_a_table_that_one_side_lacks_is_a_difference_and_one_that_changed_since_is_not_compared": "tests/unit/operate and lake compare; tests/e2e/test_verify.py",
    "tests/spark_iceberg/": "Iceberg takes another Spark than the gate's; tests/unit/lake has its rules",
    "tests/spark/test_direct_kill.py": "tests/unit/sinks/test_segments.py cuts segments at every byte",
    "tests/spark/test_lake_features.py": "readers of Delta tables; tests/unit/lake/test_delta_features.py has when a feature is given, and what is written again",
    "tests/spark/test_lake_kill.py::test_a_lake_that_is_killed_at_any_step_of_its_first_minute_starts_again": "every step; its stops at each boundary are run",
    "tests/spark/test_lake_avro.py": "Avro is decoded by test_reading.py of tests/unit; the tables are those of JSON",
    "tests/spark/test_lake_cluster.py": "two workers in processes of their own; one process is run",
    "tests/spark/test_lake_consistency.py::test_money_that_moves_between_tables_is_never_lost_at_any_scn": "a random history; the rule's two cases are run",
    "tests/spark/test_lake_ddl.py::test_names_that_differ_in_case_only_or_hold_quotes_and_dots": "names",
    "tests/spark/test_lake_ddl.py::test_large_values_that_redo_does_not_hold_are_found_after_a_move_gave_the_rows_other_rowids": "old keys are run",
    "tests/spark/test_lake_ddl.py::test_a_table_that_is_there_is_widened_and_a_type_that_cannot_be_becomes_text": "a backlog across widened types is run",
    "tests/spark/test_lake_ddl.py::test_a_table_that_is_rebuilt_and_swapped_in_by_renames_is_the_new_one": "renames of columns and tables apart are run",
    "tests/spark/test_lake_ddl.py::test_a_lost_checkpoint_brings_no_truncated_row_back": "a lost checkpoint and a truncate are run apart",
    "tests/spark/test_lake_decimals.py": "every length and scale; test_lake.py has each type",
    "tests/spark/test_lake_envelope.py::test_a_batch_of_one_topic_is_observed_as_it_would_be_read": "an optimisation",
    "tests/spark/test_lake_handover.py": "kills of a snapshot; tests/e2e/test_handover.py has the hand-over",
    "tests/spark/test_lake_joint_read.py": "an optimisation: tables of one batch are read together",
    "tests/spark/test_lake_maintenance.py": "compaction of many small files",
    "tests/spark/test_lake_mode_kills.py": "kills in every mode; test_lake_kill.py kills one",
    "tests/spark/test_lake_modes.py": "every mode, a minute of CPU each; test_lake.py and test_lake_ddl.py have the rules of the default",
    "tests/spark/test_lake_old_keys.py::test_every_mode_keeps_what_had_the_old_keys": "one mode is run",
    "tests/spark/test_lake_old_keys.py::test_large_values_follow_rows_that_exchange_their_keys": "rows of one batch are run",
    "tests/spark/test_lake_old_keys.py::test_a_change_log_without_old_keys_goes_on": "an upgrade",
    "tests/spark/test_lake_old_keys.py::test_keys_with_their_schemas_are_read": "a spelling",
    "tests/spark/test_lake_rebuild.py": "minutes of kills beside a running lake",
    "tests/spark/test_lake_second_snapshot.py": "whole connectors; the rule is test_lake_ddl.py's",
    "tests/spark/test_lake_several_pdbs.py": "tests/unit/lake and test_several_pdbs.py of tests/e2e keep databases apart",
    "tests/spark/test_lake_snapshot.py::test_the_command_reads_one_table": "a Spark of its own; the function that it calls is run",
    "tests/spark/test_lake_snapshot.py::test_a_snapshot_and_the_stream_from_its_scn_make_a_lake_that_is_equal": "a table that is altered meanwhile is run",
    "tests/spark/test_lake_types.py::test_delta_widens_a_column_as_computed_and_keeps_its_values": "tests/unit/lake/test_types.py has the table",
    "tests/spark/test_lake_types.py::test_every_type_is_read_exactly_in_every_mode_zone_and_dialect": "test_lake.py has each type",
    "tests/spark/test_lake_verify.py::test_the_command_shows_rows": "rows are shown without the command",
    "tests/spark/test_lake_verify.py::test_each_kind_of_difference_is_counted_and_shown": "a table that one side lacks is run",
    "tests/spark/test_lake_verify.py::test_a_lake_that_follows_a_connector_is_equal_for_every_type": "each kind of difference is run",
    "tests/spark/test_notebook.py": "a notebook for readers",
    "tests/spark/test_relay_source.py": "tests/unit/relay",
    # Containers.
    "tests/containers/test_stack.py::test_down_and_up_again_goes_on": "a kill is run",
    "tests/containers/test_stack.py::test_an_instance_whose_network_is_cut_is_replaced_and_becomes_a_standby": "minutes of waiting",
    "tests/containers/test_stack.py::test_a_lake_loses_nothing_when_workers_are_killed_in_the_middle_of_a_task": "make cluster",
    "tests/containers/test_oracle.py": "needs an image of Oracle Free",
}


def left_out(test: str) -> bool:
    """Whether the gate leaves a test out, by its id."""
    return any(_means(entry, test) for entry in LEFT_OUT)


def _means(entry: str, test: str) -> bool:
    """A folder, a file or a test means all that is in it; an entry with a bracket, the cases whose ids begin so."""
    if not test.startswith(entry):
        return False
    return entry.endswith("/") or "[" in entry or test[len(entry) :].startswith(("::", "[")) or test == entry


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    # Files that are left out whole are not even imported.
    try:
        name = collection_path.relative_to(ROOT).as_posix()
    except ValueError:
        return None
    return True if any(entry in (name, f"{name}/") for entry in LEFT_OUT) else None


def scope(test: str) -> str:
    """What is run by one process: a file, or all of tests/spark."""
    file = of_file(test)
    return "tests/spark" if file.startswith("tests/spark/") else file


class ByServer(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands scopes to processes in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    config.option.loadscopereorder = False
    return ByServer(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item in items:
        (out if left_out(item.nodeid) else kept).append(item)
    if out:
        config.hook.pytest_deselected(items=out)
    cost: dict[str, float] = {}
    for file, seconds in recorded().items():
        cost[scope(file)] = cost.get(scope(file), 0.0) + seconds
    items[:] = sorted(kept, key=lambda item: -cost.get(scope(item.nodeid), 0.0))
