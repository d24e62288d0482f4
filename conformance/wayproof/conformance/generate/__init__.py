"""The generator: from the model to vectors. Begin with ``suite.py``."""
