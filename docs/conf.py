"""Settings of Sphinx for ``make docs``; docs/adr/0019-sphinx-over-the-repository.md gives the reasons.

The source folder is the root of the repository, so that a link between two pages leads to the same place on the site
and in the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

# For the extensions that stand beside this file.
sys.path.insert(0, str(Path(__file__).parent))

project = "Topology Workbench"
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "docs/api/rooms/*.rst",
    "docs/api/objects/*.rst",
    "docs/cli/pages/*.rst",
    "datasets/*.md",
    "datasets/**/*.md",
    "notebooks/*.ipynb",
]
# Folders without pages; what is left out here is walked through.
exclude_patterns = [".*", "build", "out", "tests", "workbench", "_core", "benchmarks", "**/.ipynb_checkpoints"]
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "api_pages",
    "cli_pages",
    "computed_once",
    "widget_pictures",
]

myst_heading_anchors = 4

# Notebooks are committed with small outputs only, and run here. A cell that fails or takes too long ends the build.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
# No script from the network to draw widgets; `widget_pictures` shows pictures instead.
nb_ipywidgets_js = {}

# `name` in a docstring is a link where such a thing is documented.
default_role = "py:obj"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "Topology Workbench"
html_additional_pages = {"index": "index_page.html"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
# A link to the source of each page; generated pages have none (`api_pages`).
html_theme_options = {
    "source_repository": "https://github.com/topology-workbench/topology-workbench",
    "source_branch": "main",
    "source_directory": "",
}
html_copy_source = False
html_show_copyright = False
templates_path = ["_templates"]
