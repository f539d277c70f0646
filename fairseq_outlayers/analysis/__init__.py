"""What a trained model does beyond its BLEU: command lines that read text files or checkpoints.

Each module with a command line works as ``python -m fairseq_outlayers.analysis.NAME`` and as a
command of ``python -m fairseq_outlayers``. Nothing here knows of recipes.
"""
