"""Logs and generators of jobs with times, one module per format, told apart by content."""

from __future__ import annotations

from workbench.formats.job_logs.read import load_jobs

__all__ = ["load_jobs"]
