"""The relay: an SCN-indexed buffer of changes that many clients read over HTTP, as of Databus 2.0 (docs/relay.md)."""
