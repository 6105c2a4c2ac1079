"""The adapter `olr`: changes from OpenLogReplicator, over TCP."""
