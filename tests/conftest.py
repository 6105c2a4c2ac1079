"""Fixtures live in plugins, one per server."""

pytest_plugins = [
    "tests.fixtures.fix_containers",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_sandbox",
    "tests.fixtures.fix_spark",
]
