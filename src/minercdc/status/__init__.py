"""What a connector is doing, for people: a page, JSON, and a view in the terminal."""
