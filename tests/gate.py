"""What `make test` leaves out: ``-p tests.gate`` deselects these tests, and ``make test-all`` runs them.

A test is left out when a cheaper one of the gate fails for the same fault, when it repeats a rule with other seeds or examples, or when what
it tests does not change with the product (a driver's own suite against the sandbox). Each entry is the beginning of test ids, with the
reason, which names what the gate runs in their place.

The processes of a run take the dearest files first, by `tests/durations.json`, so that they end together. The files of tests/spark are
two scopes, each with a session: as one they would be what the others wait for at the end, and a third session would cost half a minute of CPU
to warm up. `tests/examples.py` says which of many cases of one test are played by day.

A test of tests/sandbox_capture that runs with both strategies of mining, or both releases, runs with one of them, the tests by turns;
tests/conformance has all rules of both strategies, and tests/unit/capture/logminer the rows of both releases.
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from functools import cache
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
    **{f"tests/simulate/test_simulate.py::test_every_history_is_right[{group}]": "further seeds" for group in range(1, 8)},
    "tests/simulate/test_simulate.py::test_a_failing_history_is_made_smaller": "a tool of the simulation",
    "tests/simulate/test_simulate.py::test_a_seed_has_one_trace": "tests the simulation",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1001]": "further seeds",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1002]": "further seeds",
    "tests/simulate/test_oracle_model.py": "holds the simulation's model to the sandbox; neither is the product",
    "tests/simulate/test_kafka_model.py": "holds the simulation's model to a broker; neither is the product",
    "tests/torture/": "random kills and minutes of work; tests/e2e kills once at each boundary",
    # Debezium in Java.
    "tests/parity/": "Debezium in Java; tests/unit/messages/formats/test_golden.py holds the bytes that were compared, tests/sandbox_capture/test_olr.py compares events, tests/unit/operate has each form of an offset",
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
    "tests/sandbox_capture/test_ddl_history.py::test_the_shape_after_each_statement_is_that_of_the_dictionary[committed": "the other strategy is run",
    "tests/sandbox_capture/test_ddl_history.py::test_the_shape_of_each_time_is_known_when_all_is_over[redo_log_catalog": "the other strategy is run; test_redo_catalog.py has this one's dictionaries",
    "tests/sandbox_capture/test_ddl_history.py::test_rows_between_statements_are_decoded_when_all_is_over[online_catalog-logminer_unbuffered": "each mode is run with the other strategy, and each strategy with the other mode",
    "tests/sandbox_capture/test_ddl_history.py::test_rows_between_statements_are_decoded_when_all_is_over[redo_log_catalog-logminer]": "each mode is run with the other strategy, and each strategy with the other mode",
    "tests/sandbox_capture/test_faults.py::test_each_code_at_a_commit_in_the_source_is_what_the_table_says": "each code; tests/unit/oracle has the table",
    "tests/sandbox_capture/test_faults.py::test_a_listener_that_recovers_is_not_even_noticed": "each code; tests/unit/oracle has the table",
    "tests/sandbox_capture/test_fors_olr.py::test_a_restarted_server_loses_and_repeats_nothing[without": "the server with its saved SCN is run",
    "tests/sandbox_capture/test_fors_olr.py::test_the_byte_order_is_found_out[little": "the other order is run",
    "tests/sandbox_capture/test_fors_olr.py::test_the_same_events_as_logminer[7-": "large pieces are run; test_fors_tables.py joins small ones",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[buffered-1": "further seeds",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[buffered-2": "further seeds",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[buffered-3": "further seeds",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[committed-0": "further seeds",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[committed-2": "further seeds",
    "tests/sandbox_capture/test_json.py::test_redo_has_the_text_of_the_snapshot[committed-3": "further seeds",
    "tests/sandbox_capture/test_kept.py::test_a_transaction_over_200_log_switches_and_3_restarts_comes_whole": "many switches; tests/unit/capture/logminer/test_kept_kills.py kills at every step, and lost rows are run",
    "tests/sandbox_capture/test_lobs.py::*[19c-committed": "each mode is run with the other release, and each release with the other mode",
    "tests/sandbox_capture/test_lobs.py::*[23ai-buffered": "each mode is run with the other release, and each release with the other mode",
    "tests/sandbox_capture/test_lobs.py::*[19c-True": "each mode is run with the other release, and each release with the other mode",
    "tests/sandbox_capture/test_lobs.py::*[23ai-False": "each mode is run with the other release, and each release with the other mode",
    "tests/sandbox_capture/test_renames.py::test_rows_written_while_tables_change_names_are_their_tables[uncommitted-chain": "each way is run in one of the modes",
    "tests/sandbox_capture/test_renames.py::test_rows_written_while_tables_change_names_are_their_tables[committed-swap": "each way is run in one of the modes",
    "tests/sandbox_capture/test_downstream.py::test_the_engine_delivers_each_transaction_once_while_shipping_stalls_and_sessions_end": "tests/e2e/test_downstream.py kills the connector while shipping stalls; test_physical_standby.py ends sessions",
    "tests/sandbox_capture/test_downstream.py::test_rows_that_are_kept_over_a_restart_or_spilled_are_decoded[201326592": "less memory is run, in which rows are kept, too",
    "tests/sandbox_capture/test_downstream_threads.py::test_two_redo_threads_come_in_the_order_of_their_commits_however_their_logs_arrive": "test_physical_standby.py has the history; a thread whose logs do not arrive is run",
    "tests/sandbox_capture/test_physical_standby.py::test_rows_that_are_kept_over_a_restart_or_spilled_are_decoded[201326592": "less memory is run, in which rows are kept, too",
    "tests/sandbox_capture/test_physical_standby.py::test_the_engine_delivers_each_transaction_once_while_apply_stalls_and_sessions_end[0": "real-time apply is run, which applies more than the archived logs",
    "tests/sandbox_capture/test_olr.py::test_the_same_events_as_logminer[text": "numbers are run; tests/unit/capture/olr/test_values.py has numbers and texts of one moment",
    "tests/sandbox_capture/test_olr.py::test_a_restarted_server_counts_again_and_nothing_is_lost[commit": "the other meaning is run; a server that lost its state is run with this one",
    "tests/sandbox_capture/test_fors_olr.py::test_the_same_events_as_logminer[8000-text": "Oracle's bytes are run; tests/unit/capture/fors_olr/test_values.py has each type in both encodings",
    "tests/sandbox_capture/test_flashback.py::test_a_table_whose_undo_is_gone_is_read_incrementally_until_it_joins[column": "ORA_ROWSCN and the greatest of two columns are run",
    "tests/sandbox_capture/test_kept.py::test_lost_rows_are_mined_again_while_their_redo_is_there[flipped": "a file that is cut is run; tests/unit/capture/logminer/test_keeping.py notices a damaged one",
    "tests/sandbox_capture/test_kept.py::test_lost_rows_whose_redo_is_gone_are_an_error_with_names[flipped": "a file that is removed is run; tests/unit/capture/logminer/test_keeping.py notices a damaged one",
    "tests/sandbox_capture/test_open_transactions.py::test_a_transaction_in_doubt_comes_once_it_is_committed[uncommitted-commit": "the other strategy is run, in which nothing but V$TRANSACTION holds the position back",
    "tests/sandbox_capture/test_open_transactions.py::test_what_was_open_while_logs_went_by_comes_after_a_restart[uncommitted": "the other strategy is run, in which nothing but V$TRANSACTION holds the position back",
    "tests/sandbox_capture/test_open_at.py::test_it_finds_a_transaction_of_another_redo_thread[START_SCN": "the other COMMIT is run, which says less; tests/unit/capture/logminer/test_open_at.py has both",
    # One history over each adapter; other styles of the servers of two adapters deliver it, and are not killed.
    **{
        f"tests/conformance/test_conformance.py::{test}[{variant}": "the adapter is run with one style; each style delivers the history"
        for test in (
            "test_killed_at_every_yield_it_misses_and_repeats_nothing",
            "test_a_hand_over_by_scn_delivers_what_was_committed_after_it",
            "test_it_goes_on_from_every_position_of_its_family",
            "test_progress_comes_when_idle_and_the_stop_ends_the_stream",
            "test_a_position_without_lost_redo_is_readable",
            "test_what_is_no_position_of_it_is_refused",
        )
        for variant in (
            "olr by begin",
            "olr in large blocks",
            "olr in protobuf",
            "fors_olr big-endian",
            "fors_olr of archived logs",
        )
    },
    # All processes: one test per promise of the README.
    "tests/e2e/test_delivery.py::test_every_change_comes_at_least_once": "a connector without transactions is run beside it; tests/kafka/test_delivery.py has the order of records and offset, which decides after a kill",
    "tests/e2e/test_fencing.py::test_a_frozen_instance_ends_when_it_wakes_up": "tests/e2e/test_standby.py freezes an owner under writes, which finds itself replaced; tests/e2e/test_stop.py has the status of one that is",
    "tests/e2e/test_offsets.py::test_an_offset_or_a_snapshot_of_another_database_does_not_go_on[flashback": "an unfinished snapshot of the other adapter is run; tests/conformance refuses a position of another database for each adapter",
    "tests/e2e/test_signals.py::test_marks_work_in_both_ways_of_mining[logminer-insert_insert": "test_a_signal_in_the_table_brings_read_events has this mode with these marks",
    "tests/e2e/test_sinks.py::test_rows_that_exchange_their_keys_are_all_there_after_kills": "tests/unit/messages/test_moved_keys.py has rows that exchange their keys, also after what an earlier run delivered; kills over segments are run",
    "tests/e2e/test_snapshot_modes.py::test_a_split_transaction_survives_a_kill_between_its_parts": "tests/unit/pipeline/test_engine.py goes on within one that was delivered in part; a broker that is killed within one is run",
    "tests/e2e/test_snapshot_modes.py::test_a_transaction_open_at_the_snapshot_comes_whole_afterwards": "tests/sandbox_capture/test_snapshot.py has one that is open across the snapshot",
    "tests/e2e/test_snapshot_modes.py::test_a_transaction_that_was_open_when_the_connector_stopped": "tests/conformance stops at many places of a history with open transactions, and goes on",
    "tests/e2e/test_snapshot_modes.py::test_no_data_begins_with_the_changes_after_its_start": "test_a_given_scn_is_where_streaming_begins and the tests of signals run with no_data",
    "tests/e2e/test_snapshot_modes.py::test_transactions_open_at_a_given_scn_come_whole[logminer": "tests/sandbox_capture/test_open_at.py begins with what was open at an SCN",
    "tests/e2e/test_txlog.py::test_killed_again_and_again_the_topic_is_the_table": "tests/conformance kills the adapter at many places of its history; its page is run line by line",
    "tests/e2e/test_within_pdb.py::test_every_change_comes_once_over_kills_and_log_switches": "tests/conformance kills at many places; test_other_pdbs_do_not_come runs a connector within a PDB",
    "tests/e2e/test_avro.py::test_an_incompatible_change_names_the_field_and_loses_nothing": "tests/unit/messages/formats/test_registries.py; the registry's records are run",
    "tests/e2e/test_configuration.py::test_arguments_and_names_of_files_are_utf_8_where_the_locale_is_ascii": "a locale that is rare",
    "tests/e2e/test_configuration.py::test_a_port_in_use_is_one_line[sandbox": "the broker's port is run",
    "tests/e2e/test_configuration.py::test_sandbox_and_broker_end_in_order": "the ten lines of README end both, in tests/e2e/test_readme.py, which looks at their statuses",
    "tests/e2e/test_configuration.py::test_a_misspelt_property_is_named_with_the_right_one[lake": "run and check are run; the same reader",
    "tests/e2e/test_database_failures.py::test_an_unreachable_host_is_retried_with_back_off": "tests/unit/pipeline/test_engine.py has the waits; a lost connection is run",
    "tests/e2e/test_database_failures.py::test_an_unknown_service_is_named_and_waited_for": "tests/unit/pipeline/test_engine.py has the waits; a database that comes up later is run",
    "tests/e2e/test_database_failures.py::test_errors_max_retries_ends_the_waiting": "tests/unit/pipeline/test_engine.py has the limit",
    "tests/e2e/test_downstream.py::test_a_log_that_does_not_arrive_ends_the_connector_and_one_that_has_arrived_lets_it_go_on": "tests/sandbox_capture/test_downstream.py waits for logs",
    "tests/e2e/test_flashback.py::test_ddl_demotes_a_table_and_it_joins_again_with_its_deletes": "tests/sandbox_capture/test_flashback.py has the rule",
    "tests/e2e/test_flashback.py::test_killed_anywhere_the_topics_are_the_tables": "tests/conformance kills the adapter at many places of its history; test_select_and_flashback_are_enough runs a connector",
    "tests/e2e/test_flashback.py::test_signals_by_table_and_ad_hoc_snapshots": "tests/e2e/test_signals.py; tests/sandbox_capture/test_flashback.py",
    "tests/e2e/test_flashback.py::test_a_table_that_is_created_later": "tests/sandbox_capture/test_flashback.py has it",
    "tests/e2e/test_formats.py": "test_avro.py compares the records of a format by the same registry; tests/unit/messages/formats has the bytes of each, and the registries' answers",
    "tests/e2e/test_handover.py::test_a_hand_over_that_is_killed_is_repeated[before": "the other side of the commit is run",
    "tests/e2e/test_handover.py::test_a_suspended_table_is_refused": "refusals; what is handed over is run",
    "tests/e2e/test_long_transaction.py::test_its_rows_survive_a_kill_and_the_deletion_of_their_redo[topic": "rows that are kept on disk are run",
    "tests/e2e/test_message_options.py::test_a_split_transaction_is_numbered_once_across_kills": "tests/unit/messages/test_transaction_metadata.py kills at any commit",
    "tests/e2e/test_offsets.py::test_an_exported_offset_comes_back[segments": "the offset in Kafka is run",
    "tests/e2e/test_offsets.py::test_an_exported_offset_comes_back[json": "the offset in Kafka is run",
    "tests/e2e/test_offsets.py::test_a_database_that_was_created_again_is_not_streamed_from[flashback": "the other adapter is run",
    "tests/e2e/test_offsets.py::test_an_scn_before_all_redo_that_is_left_is_refused": "test_places_that_cannot_be_gone_on_from is run",
    "tests/e2e/test_offsets.py::test_signals_of_the_topic_that_come_again_are_counted": "a warning of `offsets reset`",
    "tests/e2e/test_offsets.py::test_a_wrong_file_changes_nothing": "tests/unit/operate/test_stored_offset.py names what is wrong",
    "tests/e2e/test_offsets.py::test_a_running_connector_keeps_its_offset": "tests/unit/operate/test_stored_offset.py knows when a connector runs",
    "tests/e2e/test_offsets.py::test_without_an_offset_the_snapshot_is_taken_again": "an exported offset is removed on its way back",
    "tests/e2e/test_prerequisites.py::test_a_pattern_without_a_table_is_named": "tests/unit/pipeline/test_unmatched.py",
    "tests/e2e/test_prerequisites.py::test_an_exclude_pattern_that_leaves_nothing_out_is_named": "tests/unit/pipeline/test_unmatched.py",
    "tests/e2e/test_prerequisites.py::test_later_no_table_at_all_is_said": "tests/unit/pipeline/test_unmatched.py; a first start without a table is run",
    "tests/e2e/test_prerequisites.py::test_a_table_that_is_listed_later_is_named_with_the_command_that_reads_it": "a hint; tests/e2e/test_signals.py reads a table that was added",
    "tests/e2e/test_prerequisites.py::test_a_database_that_does_not_archive_is_refused": "tests/unit/operate/test_rules.py tries every rule both ways",
    "tests/e2e/test_qualify.py::test_every_offered_case_is_as_expected_and_the_report_has_no_names": "fifty cases; a run of one is killed and run again, and tests/unit/operate/test_qualify.py has the report",
    "tests/e2e/test_readme.py::test_the_parts_on_their_own": "a page beside README, whose lines are run; tests/e2e/test_signals.py has the command",
    "tests/e2e/test_relay.py::test_a_client_that_does_not_read_hurts_no_other": "tests/unit/relay/test_buffer.py overtakes readers; a slow client is killed in turns",
    "tests/e2e/test_relay.py::test_nothing_gets_past_a_truncate_without_a_bootstrap": "tests/unit/relay/test_sink.py",
    "tests/e2e/test_relay.py::test_a_client_that_fell_off_stops_or_bootstraps": "tests/unit/relay/test_http.py",
    "tests/e2e/test_secrets.py::test_when_nothing_answers_or_all_is_wrong": "while it runs, every command is run",
    "tests/e2e/test_several_pdbs.py::test_back_at_an_scn_or_a_time_tables_of_both_have_the_structures_of_then": "tests/e2e/test_offsets.py goes back for one; tests/sandbox_capture/test_several_pdbs.py starts both at an SCN",
    "tests/e2e/test_several_pdbs.py::test_check_and_plan_name_a_pdb_that_is_not_open_and_go_on_with_the_others": "tests/sandbox_capture/test_several_pdbs.py names what one lacks",
    "tests/e2e/test_signals.py::test_the_command_waits_for_the_answer_and_prints_it[port": "the topic is run",
    "tests/e2e/test_signals.py::test_marks_work_in_both_ways_of_mining[logminer-insert_delete": "each way is run with one of the marks",
    "tests/e2e/test_signals.py::test_marks_work_in_both_ways_of_mining[logminer_unbuffered-insert_insert": "each way is run with one of the marks",
    "tests/e2e/test_signals.py::test_a_table_that_was_added_is_read_if_that_is_wanted[none": "the other choice is run",
    "tests/e2e/test_signals.py::test_check_says_what_is_wrong_with_the_signal_table": "tests/unit/signals/test_signal_table.py",
    "tests/e2e/test_signals.py::test_a_table_that_is_captured_from_now_on_is_read_though_the_stream_never_had_it": "a table that was added is run",
    "tests/e2e/test_signals.py::test_a_table_that_is_made_during_an_outage_comes_by_the_stream_alone": "a table that was added is run",
    "tests/e2e/test_signals.py::test_streaming_is_paused_over_a_restart_and_resumed": "tests/unit/signals/test_stage.py pauses the stream; a signal that outlives a kill is run",
    "tests/e2e/test_signals.py::test_streaming_that_nothing_could_resume_is_not_paused": "tests/unit/signals/test_stage.py",
    "tests/e2e/test_signals.py::test_shapes_are_given_by_hand_from_the_schema_change_topic": "a repair by hand",
    "tests/e2e/test_sinks.py::test_what_needs_kafka_says_so[command0": "the lake's commands import Spark before they refuse; one command is run, and each calls the same check",
    "tests/e2e/test_sinks.py::test_what_needs_kafka_says_so[command1": "one command is run, and each calls the same check",
    "tests/e2e/test_sinks.py::test_what_needs_kafka_says_so[command2": "one command is run, and each calls the same check",
    "tests/e2e/test_snapshot_modes.py::test_recovery_rebuilds_a_schema_history_that_cannot_be_read[truncate": "a damaged history is run",
    "tests/e2e/test_snapshot_modes.py::test_recovery_reads_the_structures_again_and_goes_on_from_the_offset": "a damaged history is run",
    "tests/e2e/test_snapshot_modes.py::test_always_takes_one_at_every_start_and_not_at_every_restart": "tests/unit/snapshot/test_mode.py has the steps of each mode",
    "tests/e2e/test_snapshot_modes.py::test_configuration_based_streams_without_any_snapshot": "tests/unit/snapshot/test_mode.py",
    "tests/e2e/test_snapshot_modes.py::test_a_callable_selects_the_rows_of_a_table": "tests/unit/snapshot/test_mode.py has callables and selects",
    "tests/e2e/test_standby.py::test_a_standby_alone_starts_and_its_offset_cannot_be_moved": "tests/unit/pipeline/test_turn.py",
    "tests/e2e/test_standby.py::test_a_plain_instance_that_was_replaced_ends_with_its_own_status": "tests/e2e/test_stop.py has instances that are replaced",
    "tests/e2e/test_state_directory.py::test_a_directory_that_cannot_be_used_is_found_at_the_start[file/below": "one of the two is run",
    "tests/e2e/test_status.py::test_a_database_that_hangs_makes_the_lag_rise_and_is_its_cause": "an outage is run",
    "tests/e2e/test_stop.py::test_while_idle": "while it is busy and while it reads are run",
    "tests/e2e/test_stop.py::test_while_waiting_for_the_broker[2": "the other signal is run",
    "tests/e2e/test_stop.py::test_while_the_network_swallows_everything[starting": "the later phase is run",
    "tests/e2e/test_stop.py::test_a_second_instance_of_another_working_directory_does_not_begin": "a second instance of the machine and one elsewhere are run",
    "tests/e2e/test_stop.py::test_a_command_that_waits_for_a_server[check-broker": "each command and each server is run once",
    "tests/e2e/test_stop.py::test_a_command_that_waits_for_a_server[signal-database": "each command and each server is run once",
    "tests/e2e/test_suspension.py::test_a_suspended_table_is_read_again_with_its_deletes[logminer_unbuffered": "the other mode is run",
    "tests/e2e/test_suspension.py::test_a_transaction_that_was_open_during_the_repair_is_not_lost[logminer_unbuffered": "the other mode is run",
    "tests/e2e/test_suspension.py::test_a_connector_that_is_killed_again_and_again_while_it_reads_a_table_again_ends_equal": "tests/unit/pipeline/test_suspension.py kills at every commit",
    "tests/e2e/test_tail.py::test_it_follows_until_it_is_stopped": "what it prints is run",
    "tests/e2e/test_tail.py::test_what_is_not_there_is_named": "what it prints is run",
    "tests/e2e/test_txlog.py::test_a_signal_in_the_table_brings_rows[scn": "the other kind of marks is run",
    "tests/e2e/test_txlog.py::test_the_script_that_is_printed_without_a_database_works": "what `install` makes is run",
    "tests/e2e/test_txlog.py::test_the_printed_script_makes_what_install_makes": "what `install` makes is run",
    "tests/e2e/test_verify.py::test_what_cannot_be_compared_is_said": "every kind of change is compared",
    "tests/kafka/test_sink.py::test_a_broker_that_goes_away_is_a_delivery_error_and_a_new_sink_goes_on": "tests/e2e/test_broker_failures.py kills a broker under the connector",
    "tests/e2e/test_adapter_change.py": "the conformance suite goes on from every position of a family",
    "tests/e2e/test_avro.py::test_a_registry_that_is_away_is_waited_for": "tests/unit/messages/formats/test_registries.py",
    "tests/e2e/test_broker_failures.py::test_a_broker_that_comes_up_later_is_found": "the broker that is killed in the middle is run",
    "tests/e2e/test_examples.py::test_every_connector_runs": "every example is loaded by tests/unit/config; the README's is run",
    "tests/e2e/test_examples.py::test_every_signal_of_every_channel_is_answered": "tests/e2e/test_signals.py has the channels",
    "tests/e2e/test_first_lake.py": "Spark six times; tests/spark has what each command does",
    "tests/e2e/test_forked.py": "tests a tool of the tests",
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
    "tests/e2e/test_stop.py::test_servers_while_they_serve": "tests/e2e/test_readme.py ends both servers",
    "tests/e2e/test_stop.py::test_the_lake": "a Spark of its own",
    "tests/e2e/test_transforms.py::test_every_example_keeps_its_promise": "tests/unit/messages/transforms",
    "tests/e2e/test_wheels.py": "builds both wheels and installs them; the release does so",
    "tests/e2e/test_examples.py::test_the_table_and_the_command_of_the_page_of_signals": "a page; tests/e2e/test_signals.py sends signals by table and command",
    "tests/e2e/test_signals.py::test_a_snapshot_is_paused_resumed_and_stopped_by_minercdc_signal": "tests/unit/signals/test_stage.py pauses, resumes and stops; the command is run with another signal",
    "tests/e2e/test_sinks.py::test_killed_anywhere_every_change_is_written_exactly_once[json": "segments are run; tests/unit/sinks/test_json_lines.py has the file that a kill leaves",
    "tests/e2e/test_sinks.py::test_a_second_connector_is_fenced[json": "segments are run",
    "tests/e2e/test_standby.py::test_the_owner_is_killed[by the port": "by the group is run; tests/unit/pipeline/test_owner_port.py has what a port says",
    # The lake on real Spark: one case of each rule.
    "tests/spark/test_delta_retention.py::test_vacuum_takes_no_file_that_a_version_within_the_retention_has": "minutes of Delta's VACUUM; tests/unit/lake/test_delta_retention.py has which versions stay",
    "tests/spark/test_delta_retention.py::test_log_files_go_but_those_that_the_oldest_version_needs": "Delta's own cleanup of logs, after many commits; as above",
    "tests/spark/test_delta_retention.py::test_a_table_that_is_there_gets_them_by_maintenance": "a new table is run; tests/unit/lake/test_delta_retention.py has what a table that is there gets",
    "tests/spark/test_native_delta.py::test_both_merges_make_the_same_table": "tests/unit/lake/test_delta_merge.py has long histories; what stays, and appends, are compared with Spark's",
    "tests/spark/test_lake_compiled.py::test_the_driver_decodes_rows_as_sql_does": "test_lake.py has tables that the driver decodes, with each type; workers are run",
    "tests/spark/test_lake_scanned.py::test_a_log_of_an_older_version_is_appended_to_by_spark": "an upgrade",
    "tests/spark/test_lake_snapshot.py::test_a_table_that_is_altered_meanwhile_is_read_at_a_later_scn": "a large table is read in ranges; tests/sandbox_capture/test_snapshot_ranges.py has DDL after the SCN",
    "tests/spark/test_lake_segments.py::test_tables_are_the_source_over_restarts_ddl_and_new_segments": "a lake on segments with a table that is left out is run; tests/unit/lake/test_record_source.py has what segments hold",
    "tests/spark/test_lake_ddl.py::test_columns_and_tables_say_what_they_are_copies_of": "tests/unit/lake/test_columns.py brings comments to the lake",
    "tests/spark/test_lake_ddl.py::test_a_table_that_keeps_all_rows_is_read_with_the_key_that_it_got_since": "tests/unit/lake/test_modes.py has the keys of modes",
    "tests/spark/test_lake_security.py": "tests/unit/lake/test_kafka_options.py translates each configuration",
    "tests/spark/test_lake_verify.py::test_the_command_shows_rows": "what a command prints",
    "tests/spark/test_lake_verify.py::test_rows_are_shown_as_they_are_in_the_lake": "what a command prints",
    "tests/spark/test_lake_verify.py::test_each_kind_of_difference_is_counted_and_shown": "a table that one side lacks is run; tests/e2e/test_verify.py has each kind of the topics",
    "tests/spark/test_lake_verify.py::test_a_lake_that_follows_a_connector_is_equal_for_every_type": "a table that one side lacks is run",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1003]": "further seeds",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1004]": "further seeds",
    "tests/checker/test_checker.py::test_what_comes_out_is_what_was_committed[1005]": "further seeds",
    "tests/checker/test_signals.py::test_snapshots_among_changes_leave_what_is_there[5001]": "further seeds",
    "tests/checker/test_signals.py::test_snapshots_among_changes_leave_what_is_there[5002]": "further seeds",
    "tests/spark/test_direct.py::test_segments_that_were_read_are_removed_when_retention_says_so": "tests/unit/sinks has the retention of segments",
    "tests/spark/test_direct.py::test_a_checkpoint_of_other_segments_is_refused": "a refusal; tests/unit/sinks has the marks of segments",
    "tests/spark/test_direct.py::test_tables_of_one_name_in_two_databases_are_two": "tests/unit/lake/test_history.py keeps databases apart",
    "tests/spark/test_lake_ddl.py::test_keys_that_one_statement_shifts_are_all_there": "test_lake_old_keys.py has keys that move",
    "tests/spark/test_lake_ddl.py::test_a_column_that_is_dropped_and_added_again_is_another_one": "tests/unit/lake/test_columns.py has it, killed at each step",
    "tests/spark/test_lake_ddl.py::test_values_that_redo_does_not_hold_stay_as_they_are_in_the_lake_or_came_before": "a table of which redo holds the key only is run",
    "tests/spark/test_lake_ddl.py::test_a_log_without_a_commit_is_no_table": "every step of a first minute that is killed; run at night, too",
    "tests/spark/test_lake_ddl.py::test_a_key_that_is_added_after_the_rows_loses_none_of_them": "test_lake_old_keys.py",
    "tests/spark/test_lake_consistency.py::test_a_table_that_was_not_merged_is_completed_from_the_change_log": "tests/unit/lake/test_pending.py",
    "tests/spark/test_lake_gaps.py": "tests/unit/lake/test_gaps.py has each cause",
    "tests/spark/test_lake_snapshot.py::test_a_table_that_cannot_be_read_is_named_and_one_that_is_not_ours_is_left_alone": "the other tables and their refusals; tests/unit/lake/test_oracle_source.py",
    "tests/spark_reading/": "Spark 3.5 and Spark Connect take a Python of their own; tests/spark/test_lake_changes.py reads topics",
    "tests/spark_older/": "refusals on an older Spark than the gate's",
    "tests/spark_pipeline/": "takes packages of Spark Connect; tests/spark/test_lake_changes.py reads the same changes",
    "tests/spark_s3/": "fetches 700 MB; tests/spark has the same lakes in directories, killed at every boundary",
    "tests/spark_iceberg/": "Iceberg takes another Spark than the gate's; tests/unit/lake has its rules",
    "tests/spark/test_direct.py::test_damage_ends_the_query_with_file_and_byte": "tests/unit/sinks/test_segments.py has each damage with file and byte",
    "tests/spark/test_lake_segments.py::test_the_stream_goes_on_where_spark_did_not_wait_for_its_python_process": "tests/unit/lake/test_passing.py has which errors a stream is started again after, and how often",
    "tests/spark/test_direct_kill.py": "tests/unit/sinks/test_segments.py cuts segments at every byte",
    "tests/spark/test_lake_features.py": "readers of Delta tables; tests/unit/lake/test_delta_features.py has when a feature is given, and what is written again",
    "tests/spark/test_lake_kill.py": "every boundary, and every step of a first minute; test_lake.py stops a lake of ten tables at one of each kind",
    "tests/spark/test_lake.py::test_a_lost_checkpoint_changes_no_table": "test_lake_log_records.py loses one, with no DDL before it",
    "tests/spark/test_lake_avro.py": "Avro is decoded by test_reading.py of tests/unit; the tables are those of JSON",
    "tests/spark/test_lake_cluster.py": "two workers in processes of their own; one process is run",
    "tests/spark/test_lake_consistency.py::test_money_that_moves_between_tables_is_never_lost_at_any_scn": "a random history; the rule's two cases are run",
    "tests/spark/test_lake_ddl.py::test_names_that_differ_in_case_only_or_hold_quotes_and_dots": "names",
    "tests/spark/test_lake_ddl.py::test_large_values_that_redo_does_not_hold_are_found_after_a_move_gave_the_rows_other_rowids": "old keys are run",
    "tests/spark/test_lake_ddl.py::test_a_table_that_is_there_is_widened_and_a_type_that_cannot_be_becomes_text": "a backlog across widened types is run",
    "tests/spark/test_lake_ddl.py::test_a_table_that_is_rebuilt_and_swapped_in_by_renames_is_the_new_one": "renames of columns and tables apart are run",
    "tests/spark/test_lake_decimals.py": "every length and scale; test_lake.py has each type",
    "tests/spark/test_lake_envelope.py::test_a_batch_of_one_topic_is_observed_as_it_would_be_read": "an optimisation",
    "tests/spark/test_lake_envelope.py::test_what_was_not_written_or_is_of_other_topics_is_not_observed": "an optimisation",
    "tests/spark/test_lake_handover.py": "kills of a snapshot; tests/e2e/test_handover.py has the hand-over",
    "tests/spark/test_lake_joint_read.py": "an optimisation: tables of one batch are read together",
    "tests/spark/test_lake_log_records.py::test_rows_that_are_marked_as_deleted_are_left_to_spark": "tests/unit/lake/test_delta_log.py has the same rows",
    "tests/spark/test_lake_maintenance.py": "compaction of many small files",
    "tests/spark/test_lake_mode_kills.py": "kills in every mode; test_lake.py stops one",
    "tests/spark/test_lake_modes.py": "every mode, a minute of CPU each; test_lake.py has the rules of the default",
    "tests/spark/test_lake_old_keys.py::test_every_mode_keeps_what_had_the_old_keys": "one mode is run",
    "tests/spark/test_lake_old_keys.py::test_large_values_follow_rows_that_exchange_their_keys": "rows of one batch are run",
    "tests/spark/test_lake_old_keys.py::test_a_change_log_without_old_keys_goes_on": "an upgrade",
    "tests/spark/test_lake_old_keys.py::test_keys_with_their_schemas_are_read": "a spelling",
    "tests/spark/test_lake_rebuild.py": "minutes of kills beside a running lake",
    "tests/spark/test_lake_second_snapshot.py": "whole connectors; tests/unit/lake/test_pending.py has the rule",
    "tests/spark/test_lake_several_pdbs.py": "tests/unit/lake and test_several_pdbs.py of tests/e2e keep databases apart",
    "tests/spark/test_lake_snapshot.py::test_the_command_reads_one_table": "a Spark of its own; the function that it calls is run",
    "tests/spark/test_lake_snapshot.py::test_a_snapshot_and_the_stream_from_its_scn_make_a_lake_that_is_equal": "a large table is read in ranges; tests/e2e/test_handover.py has the stream from its SCN",
    "tests/spark/test_lake_types.py::test_delta_widens_a_column_as_computed_and_keeps_its_values": "tests/unit/lake/test_types.py has the table",
    "tests/spark/test_lake_types.py::test_every_type_is_read_exactly_in_every_mode_zone_and_dialect": "test_lake.py has each type",
    "tests/spark/test_native_delta.py::test_a_table_that_another_program_restores_says_how_far_it_is_then": "four RESTOREs by Spark; tests/unit/lake/test_delta_log.py has their log",
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
    return any(_means(entry, test) for entry in _of_file(tuple(LEFT_OUT), of_file(test)))


@cache
def _of_file(entries: tuple[str, ...], file: str) -> list[str]:
    """Those that mean a test of the file or all that is in a folder of it."""
    return [entry for entry in entries if of_file(entry) == file or (entry.endswith("/") and file.startswith(entry))]


def _means(entry: str, test: str) -> bool:
    """A folder, a file or a test means all that is in it; an entry with a bracket, the cases whose ids begin so, of any test with `*`."""
    if "::*[" in entry:
        file, _, case = entry.partition("::*")
        return test.startswith(f"{file}::") and test[test.find("[") :].startswith(case)
    if not test.startswith(entry):
        return False
    return entry.endswith("/") or "[" in entry or test[len(entry) :].startswith(("::", "[")) or test == entry


_CAPTURES = "tests/sandbox_capture/"
_STRATEGY = re.compile(r"(?<=[\[-])(?:uncommitted|buffered|committed|logminer|logminer_unbuffered|19c|23ai)(?=[-\]])")


def other_strategies(tests: Iterable[str]) -> set[str]:
    """Of these ids, the cases of which the gate runs another strategy or release."""
    cases: dict[str, list[str]] = defaultdict(list)
    for test in tests:
        if test.startswith(_CAPTURES):
            cases[_STRATEGY.sub("*", test)].append(test)
    alike = [found for found in cases.values() if len(found) > 1]
    return {test for at, found in enumerate(alike) for test in found if test != found[at % len(found)]}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    # Files that are left out whole are not even imported.
    try:
        name = collection_path.relative_to(ROOT).as_posix()
    except ValueError:
        return None
    return True if any(entry in (name, f"{name}/") for entry in LEFT_OUT) else None


def scope(test: str) -> str:
    """What is run by one process: a file, or half of tests/spark."""
    file = of_file(test)
    return f"tests/spark {halves_of_spark().get(file, 1)}" if file.startswith("tests/spark/") else file


# A session's first MERGE takes ten seconds of CPU and more, a later one two or three; the same is true of UPDATE and of an overwrite. So the
# files in which Spark merges share a session; test_lake_compiled would make it longer than all others.
_MERGED_BY_SPARK = {f"tests/spark/{name}.py" for name in ("test_lake", "test_lake_old_keys", "test_native_delta")}


@cache
def halves_of_spark() -> Mapping[str, int]:
    """The files of tests/spark that the gate runs, each with the half that it is in: 1 or 2, which take about as long. Those in which Spark
    merges, but one, are in the first."""
    costs = {file: cost for file, cost in recorded().items() if file.startswith("tests/spark/") and not left_out(file)}
    halves: dict[str, int] = {}
    sums = {1: 0.0, 2: 0.0}
    for file in sorted(costs, key=lambda file: (file not in _MERGED_BY_SPARK, -costs[file])):
        half = 1 if file in _MERGED_BY_SPARK else min(sums, key=lambda half: sums[half])
        halves[file] = half
        sums[half] += costs[file]
    return halves


class ByServer(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands scopes to processes in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    config.option.loadscopereorder = False
    return ByServer(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # What is collected stays to the end: looking through it for garbage, while it grows and with each test, takes seconds of each process.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item in items:
        (out if left_out(item.nodeid) else kept).append(item)
    if others := other_strategies(item.nodeid for item in kept):
        out += [item for item in kept if item.nodeid in others]
        kept = [item for item in kept if item.nodeid not in others]
    if out:
        config.hook.pytest_deselected(items=out)
    cost: dict[str, float] = {}
    for file, seconds in recorded().items():
        cost[scope(file)] = cost.get(scope(file), 0.0) + seconds
    items[:] = sorted(kept, key=lambda item: -cost.get(scope(item.nodeid), 0.0))
