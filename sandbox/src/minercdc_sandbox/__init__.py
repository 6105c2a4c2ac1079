"""An Oracle-compatible server for tests and demos: SCN versions, redo, LogMiner, spoken over Oracle's own wire protocol.

It shares no code with the rest of minercdc, so that the writer of SQL_REDO and its parser cannot agree on a mistake.
"""
