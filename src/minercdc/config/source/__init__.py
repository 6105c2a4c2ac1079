"""Properties of the source database, of each adapter, of snapshots and signals."""
