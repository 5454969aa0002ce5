"""Settings of the documentation."""

from importlib import metadata

project = "tarry"
author = "The tarry maintainers"
copyright = author
version = release = metadata.version("tarry")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = f"tarry {release}"
