"""What is written from ``spec/`` for people and tools that do not read Python.

``generators.py`` lists everything that is generated; ``schemas.py`` writes the JSON Schemas,
``pages.py`` the pages of the documentation.
"""
