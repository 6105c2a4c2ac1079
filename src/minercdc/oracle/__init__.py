"""Talks to Oracle: connections, the dictionary, SCNs, error codes. Nothing here knows about rows of redo."""
