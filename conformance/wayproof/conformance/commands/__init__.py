"""The commands of ``wayproof``, each in the module of its name.

A module offers either a function of its own name, or, if it has commands of its own, ``app``, a
``typer.Typer``. It is imported when its command is called, and ``cli.py`` lists it with one line
of help, so that ``wayproof --help`` imports none of them. Whatever is heavy is imported inside
the functions all the same: shell completion has to be quick.
"""
