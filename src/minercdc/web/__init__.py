"""Requests to other programs over HTTP."""
