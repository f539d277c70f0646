"""Charts as data, and drawing them."""
