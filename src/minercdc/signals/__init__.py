"""Ad hoc snapshots and whatever else is asked for while the connector runs."""
