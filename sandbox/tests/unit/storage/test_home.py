"""A data directory that cannot be used is left as if it had not been opened."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from minercdc_sandbox.interfaces import OraError
from minercdc_sandbox.storage.home import FORMAT, DataDirectory


def test_a_directory_of_another_format_is_refused_and_closed(tmp_path: Path) -> None:
    old = DataDirectory(tmp_path)
    old.save("format", FORMAT - 1)
    old.commit()
    old.db.close()
    old.close()
    with pytest.raises(OraError, match=f"ORA-00201: control file version {FORMAT - 1} incompatible") as refused:
        DataDirectory(tmp_path)
    kept = apsw.Connection(str(tmp_path / "rows.db"))
    assert kept.execute("select name from kept").get == "format", refused
    kept.close()
