"""The rules of `minercdc check`: what database, Kafka, registry and disk have to be like, what each rule is for, and how to repair it.

catalogue.py     all rules, with what they are for; docs/checks.md is made of it (page.py)
examination.py   examines them one after the other; one that cannot be examined hides no other
database.py      undo, archive, redo logs, memory      access.py   privileges      places.py   topics, registry, disk

A start examines only those without which capture cannot work (`oracle/prerequisites.py` and the adapters' own).
"""
