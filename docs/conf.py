"""Sphinx settings: built offline, and read offline too (no CDN, no intersphinx)."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx_gallery import gen_rst

import mmdbounds

sys.path += [str(Path(__file__).parent / "_tools"), str(Path(__file__).parents[1])]  # pages.py, lab
import kept

project = "mmdbounds"
author = "The mmdbounds developers"
copyright = "2026, The mmdbounds developers"
version = release = mmdbounds.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_tools", "examples"]
templates_path = ["_templates"]
default_role = "py:obj"  # single backticks in docstrings: a link where there is one, else code
nitpicky = False  # no intersphinx: names of other packages have no target

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists what is public
numpydoc_xref_param_type = False

# Stories need data that are not part of the repository: what they print and draw is kept in it, and shown.
gen_rst.execute_script = kept.shown_in_gallery(gen_rst.execute_script)

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/examples/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,  # how busy the machine was that built the pages is of no interest
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = f"mmdbounds {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["offline.js"]
html_copy_source = False
html_show_sourcelink = False
