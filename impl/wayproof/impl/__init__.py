"""One durable implementation of the contracts, on SQLite.

It decides by guarded compare-and-set statements over rows and running totals, written from
`wayproof.spec` alone. Only `wayproof.conformance` and the tests may import it, and it never imports
`wayproof.model`.
"""
