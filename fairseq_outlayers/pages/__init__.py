"""Self-contained HTML pages made of plain data: no network, no framework, nothing of recipes."""

from fairseq_outlayers.pages.inspection_page import inspection_page
from fairseq_outlayers.pages.recipe_page import recipe_page
from fairseq_outlayers.pages.writing import write_page

__all__ = ["inspection_page", "recipe_page", "write_page"]
