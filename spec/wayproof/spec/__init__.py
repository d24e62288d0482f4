"""What the contracts say.

Clauses and rulings as data, the vocabulary, the contract types and ports, strict validation and the
JSON Schemas. Everyone may import this package; it imports no other part of wayproof.
"""
