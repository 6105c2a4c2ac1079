"""The adapter `fors_olr`: changes from FORS Oracle Logical Replicator, over TCP."""
