"""Receives signals to a running connector and acts on them."""
