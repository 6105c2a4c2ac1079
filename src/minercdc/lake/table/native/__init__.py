"""What the driver's own process does to tables of either format, with no Spark job."""
