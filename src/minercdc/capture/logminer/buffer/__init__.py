"""From rows in redo order to committed transactions: open transactions in memory or spilled, undo, and their delivery at COMMIT."""
