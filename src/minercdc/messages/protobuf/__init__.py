"""Records as Protocol Buffers."""
