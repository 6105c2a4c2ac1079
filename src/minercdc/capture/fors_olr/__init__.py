"""Changes from FORS Oracle Logical Replicator, over TCP."""
