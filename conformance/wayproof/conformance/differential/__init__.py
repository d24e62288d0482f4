"""The model against a backend, driven and shrunk by Hypothesis. Begin with ``machine.py``."""
