"""The journey contract: what it says. Begin with ``operations.py``."""
