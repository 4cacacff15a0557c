"""One self-contained HTML file about a release: what may be published, and what is internal."""
