"""Sends signals to a connector that runs elsewhere, and waits for its answers."""
