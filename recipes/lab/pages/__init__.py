"""Tables and pages of results."""
