"""What ``python -m fairseq_outlayers NAME`` runs."""
