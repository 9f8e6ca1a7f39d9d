"""As mem0.llms."""
