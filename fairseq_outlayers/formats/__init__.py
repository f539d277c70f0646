"""Files that one part writes and another reads."""
