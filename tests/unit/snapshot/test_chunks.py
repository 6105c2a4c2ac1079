"""Where a table is cut, and the ROWIDs it is cut at."""

from __future__ import annotations

from minercdc.snapshot.initial.rowid_ranges import Extent, cuts, row_id_of


def test_row_id_is_object_file_block_and_row() -> None:
    # The example of Oracle's SQL Reference, ROWID pseudocolumn: object AAAAec, file AAE, block AAAABM (76), row AAA.
    assert row_id_of(Extent(1948, 4, 70, 8), 76) == "AAAAecAAEAAAABMAAA"


def test_row_id_in_a_bigfile_tablespace_has_no_file() -> None:
    assert row_id_of(Extent(1948, 1024, 0, 8), 76) == "AAAAecAAAAAAABMAAA"
    assert row_id_of(Extent(1948, 1024, 0, 8), (1 << 22) + 76) == "AAAAecAABAAAABMAAA"


def test_ranges_are_of_equal_size_whatever_the_extents() -> None:
    extents = [Extent(7, 4, 1000, 100), Extent(7, 4, 128, 412), Extent(7, 5, 0, 512)]
    assert cuts(extents, 4) == (
        row_id_of(extents[1], 128 + 256),
        row_id_of(extents[2], 0),
        row_id_of(extents[2], 256),
    )


def test_partitions_are_cut_one_after_another() -> None:
    extents = [Extent(8, 4, 128, 512), Extent(7, 4, 640, 512)]
    assert cuts(extents, 2) == (row_id_of(extents[0], 128),)


def test_small_tables_stay_whole() -> None:
    assert cuts([], 8) == ()
    assert cuts([Extent(7, 4, 128, 200)], 8) == ()
    assert len(cuts([Extent(7, 4, 128, 300)], 8)) == 1
