"""As mem0.memory."""
