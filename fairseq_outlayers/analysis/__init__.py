"""Read-only measurements of texts and trained models; ``commands/`` prints them."""
