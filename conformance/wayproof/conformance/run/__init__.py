"""Playing vectors on a backend, and judging what it answers. Begin with ``player.py``."""
