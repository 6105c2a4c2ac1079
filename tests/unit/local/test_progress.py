"""The demo counts a Delta table's rows as its log has them."""

from __future__ import annotations

import json
from pathlib import Path

from minercdc.local.demo.progress import DeltaRows


def test_rows_that_a_deletion_vector_takes_out_are_not_counted_whatever_comes_first_in_the_commit(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    rows = DeltaRows(tmp_path)
    assert rows.count() == 0
    whole = {"path": "a.parquet", "stats": '{"numRecords": 1000}'}
    first = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 8, "cardinality": 5}
    second = {**first, "offset": 9, "cardinality": 7}
    small = {"path": "b.parquet", "stats": '{"numRecords": 3}'}
    for version, actions, count in (
        (0, [{"add": whole}, {"add": small}], 1003),
        (1, [{"add": {**whole, "deletionVector": first}}, {"remove": {"path": "a.parquet"}}], 998),
        (
            2,
            [
                {"remove": {"path": "a.parquet", "deletionVector": first}},
                {"add": {**whole, "deletionVector": second}},
                {"remove": {"path": "b.parquet"}},
            ],
            993,
        ),
    ):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))
        assert rows.count() == count
