"""How fast the implementations are."""
