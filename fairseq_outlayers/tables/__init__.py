"""Tables with a row for every word: looking rows up, the rows in use, what they belong to."""
