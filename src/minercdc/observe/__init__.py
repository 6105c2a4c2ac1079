"""Observability of a connector: metrics, status and its page, the HTTP port, notifications."""
