"""As mem0.vector_stores."""
