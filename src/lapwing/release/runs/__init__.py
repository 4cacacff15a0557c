"""Paid runs: settings, records, certificates, and what can be resumed.

Enters: checked settings and a source. Leaves: a finished model with its certificate. May open the kernel.
"""
