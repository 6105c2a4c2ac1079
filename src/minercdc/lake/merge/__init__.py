"""Brings lake tables to a commit SCN: which tables, when, and how a change is merged in each mode."""
