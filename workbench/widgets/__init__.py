"""Front ends for Jupyter: they check messages, serialize and draw; every decision is a function elsewhere.

Sources of the page side are in ``js/``; ``static/`` holds what `make widgets` bundles from them, committed so that
installing needs no Node.
"""
