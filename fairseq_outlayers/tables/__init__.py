"""Tables with a row for every word: looking rows up, and the rows in use."""
