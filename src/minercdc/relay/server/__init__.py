"""The process of a relay: requests, what is served, commands, statistics."""
