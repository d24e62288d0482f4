"""Golden bytes: small inputs and what they come to, for backends in other languages."""
