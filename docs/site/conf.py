"""Sphinx's settings. `python -m docs.site build` stages the sources and calls Sphinx with them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from docs.site.nitpicks import IGNORED

project = "sordino"
author = "The sordino maintainers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "docs.site.extension"]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"

# Links to headings are checked by name, as a code host makes the names.
myst_heading_anchors = 4
nitpick_ignore_regex = IGNORED

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# A single backtick of a docstring is code.
default_role = "code"

html_theme = "furo"
html_title = "sordino"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_copy_source = True
# The search finds every name.
html_use_index = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False, "top_of_page_buttons": []}
# Colours that WCAG accepts, of the package accessible-pygments, which Furo brings.
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
