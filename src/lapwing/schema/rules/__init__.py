"""Rules that no synthetic row breaks: the language, its codes, and the search for rows that keep them."""
