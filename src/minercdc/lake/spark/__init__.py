"""The Spark session of a lake, and texts of Spark SQL."""
