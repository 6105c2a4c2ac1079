"""The rules of `minercdc check`: requirements for database, Kafka, registry and disk, with their purpose and repair.

catalogue.py     all rules, with what they are for; docs/checks.md is made of it (page.py)
examination.py   examines them one after the other; one that cannot be examined hides no other
database.py      undo, archive, redo logs, memory      access.py   privileges      targets.py   keys, topics, registry, disk
downstream.py, physical_standby.py      the database that is mined in place of the source

A start examines only those of `oracle/prerequisites.py`, the adapters, and the connector's own topics.
"""
