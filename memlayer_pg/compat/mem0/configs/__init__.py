"""As mem0.configs."""
