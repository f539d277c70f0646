"""Training, scoring and releasing arms, and measuring their speed."""
