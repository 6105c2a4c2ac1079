"""Reading SQL text into syntax trees."""
