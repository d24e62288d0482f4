"""Backends that differ from ours only as the contract allows. Begin with ``variant.py``.

The suite is tested by them: a vector that one of them fails demands more than the contract does.
"""
