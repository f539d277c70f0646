"""The commands of ``python -m fairseq_outlayers NAME``, one a file: options and printing."""
