"""Patches that make errors and logs readable; ``OUTLAYERS_CONVENIENCES=0`` turns them off."""
