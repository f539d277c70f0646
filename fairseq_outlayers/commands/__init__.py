"""What ``python -m fairseq_outlayers NAME`` runs: options, and what is printed; one a file."""
