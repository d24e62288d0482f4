"""The commands of ``wayproof``, each in the module of its name.

A module offers ``app``, a ``typer.Typer`` with one command, or with several and a callback. It is
imported to show ``wayproof --help``, so it imports whatever is heavy inside its functions.
"""
