"""Tables that are public, which synthetic rows agree with."""
