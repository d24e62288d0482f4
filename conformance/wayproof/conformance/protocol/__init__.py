"""How a backend is talked to. Begin with ``backend.py``."""
