"""Properties of the journey contract: step contracts, invariants and slow oracles."""
