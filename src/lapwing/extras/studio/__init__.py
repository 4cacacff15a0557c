"""The studio: the whole job in a browser, on the owner's own machine.

Starlette serves pages that Jinja2 makes; one room is one module of `rooms`. Everything is done by the public calls.
"""
