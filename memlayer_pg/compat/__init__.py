"""The interfaces of other packages, over ours."""
