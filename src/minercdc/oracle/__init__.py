"""Talking to Oracle: connections, the dictionary, SCNs, error codes. Nothing here knows about redo rows or events."""
