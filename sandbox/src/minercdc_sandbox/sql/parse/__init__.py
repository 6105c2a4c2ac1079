"""Reading SQL text into syntax trees. Nothing here looks into the catalog: names may be of nothing that exists."""
