"""Widgets for Jupyter: they check the page's messages, serialise and draw; all decisions are made in other packages.

The page's JavaScript is in ``js/``; ``static/`` holds what `make widgets` bundles from it, committed so that installing
the package needs no Node.
"""
