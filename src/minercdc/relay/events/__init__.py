"""The relay's events as bytes, and their schemas."""
