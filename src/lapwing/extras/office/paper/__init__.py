"""A certificate for people and authorities: a short form, one page to sign, a signature."""
