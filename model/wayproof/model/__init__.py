"""What the contracts mean.

One total, pure, deterministic transition function per contract, with its invariants, its step
contracts and the exhaustive explorer. It is built from the standard library and the vocabulary in
`wayproof.spec`. Only `wayproof.conformance` and the tests may import it; `wayproof.impl` never
does, because two readings of one specification prove something only while they stay independent.
"""
