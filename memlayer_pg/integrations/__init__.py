"""Adapters for frameworks, a module each; every one needs the extra of its name installed."""
