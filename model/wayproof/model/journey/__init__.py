"""The journey contract: what it means. Begin with ``step.py``."""
