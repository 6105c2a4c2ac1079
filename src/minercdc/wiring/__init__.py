"""Constructs a connector's parts from its configuration, and connects them."""
