"""What is told of a run: to people on a terminal, and to programs as JSON."""
