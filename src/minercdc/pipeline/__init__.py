"""A connector's pipeline: the engine's loop, the publisher, suspension, standby, and how all parts are constructed."""
