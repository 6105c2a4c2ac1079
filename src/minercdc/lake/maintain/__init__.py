"""Keeps lake tables small and right: compaction, retention, rebuilding, status and verification."""
