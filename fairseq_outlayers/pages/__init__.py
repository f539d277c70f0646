"""Self-contained HTML pages from plain data, without network, framework or recipe code."""

from fairseq_outlayers.pages.inspection_page import inspection_page
from fairseq_outlayers.pages.recipe_page import recipe_page
from fairseq_outlayers.pages.writing import write_page

__all__ = ["inspection_page", "recipe_page", "write_page"]
