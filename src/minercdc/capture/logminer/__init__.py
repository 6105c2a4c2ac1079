"""The adapters `logminer` and `logminer_unbuffered`: changes from the redo logs, through LogMiner."""
