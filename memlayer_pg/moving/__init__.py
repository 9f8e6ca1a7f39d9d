"""Moving in from mem0: its tables in Postgres, its SQLite file, or a dump of what it returns.

`store` reads mem0's tables and `sqlite` its file, both in the order of ids, so that `joined` puts
them together without holding either. `payload` and `events` make of them what import_memories
takes, and note in `defects` whatever was not as it should be. `flow` moves, `comparing` looks
whether all arrived.
"""
