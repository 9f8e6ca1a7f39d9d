"""As mem0.embeddings."""
