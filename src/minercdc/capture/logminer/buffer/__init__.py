"""Assembles committed transactions from rows in redo order: open transactions in memory or spilled, undo, and their delivery at COMMIT."""
