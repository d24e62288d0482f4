"""Where the specification, the model and a backend meet.

The vectors and their generator, the backend protocol, the runner, history checking, trace replay,
mutants, variants, reports and the command line. It may import every other part of wayproof; apart
from the tests, nothing imports it.
"""
