"""Wire formats besides JSON: records whose key and value follow a schema of a schema registry."""
