"""Properties of where messages go: topics, sinks, lake and relay."""
