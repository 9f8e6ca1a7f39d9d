"""Programs as people write them for mem0, with its import changed and nothing else."""
