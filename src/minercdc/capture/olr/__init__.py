"""Changes from OpenLogReplicator, over TCP."""
