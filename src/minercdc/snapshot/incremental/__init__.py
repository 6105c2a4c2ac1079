"""Snapshots that signals request: incremental ones with watermarks, blocking ones, and suspended tables that are read again."""
