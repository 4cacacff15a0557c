"""What a release, a plan and a certificate look like: facts in sections, drawn as pages and charts.

In: models, certificates and answers. Out: pages of HTML, charts. Reads no row.
"""
