"""The certificate: what was spent on what, what was assumed, what is proved."""
