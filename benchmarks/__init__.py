"""How fast and how good memlayer-pg is, beside plain pgvector and mem0: `python -m benchmarks`."""
