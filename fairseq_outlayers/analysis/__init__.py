"""What is measured of texts and of trained models, which it only reads; ``commands/`` prints it."""
