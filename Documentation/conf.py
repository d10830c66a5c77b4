# SPDX-License-Identifier: GPL-2.0-only
"""The manual in HTML, with search: sphinx-build. What dxk adds is in tools/dxkdoc.py."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(here / "tools"))

project = "dxk"
version = release = (here.parent / "VERSION").read_text().strip()
author = copyright = "the dxk developers"
extensions = ["dxkdoc"]
exclude_patterns = ["ABI", "tools", "tutorials"]
highlight_language = "none"
smartquotes = False
nitpicky = False
html_theme = "alabaster"
html_theme_options = {"description": "a work dispatcher in the kernel", "page_width": "70em"}
html_sidebars = {"**": ["about.html", "searchbox.html", "localtoc.html", "relations.html"]}
html_copy_source = False
html_show_copyright = False
html_last_updated_fmt = None
