"""Backends that are wrong in exactly one way each. Begin with ``mutant.py``."""
