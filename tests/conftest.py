"""Fixtures live in plugins, one per server."""

from hypothesis import settings

pytest_plugins = [
    "tests.fixtures.fix_containers",
    "tests.fixtures.fix_kafka",
    "tests.fixtures.fix_sandbox",
    "tests.fixtures.fix_spark",
]

settings.register_profile("minercdc", deadline=None)  # a busy machine decides no test; pytest's timeout ends one that hangs
settings.load_profile("minercdc")
