"""Changes from the redo logs, through LogMiner."""
