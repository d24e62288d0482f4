"""The chain from clause to verdict, derived from the code."""
