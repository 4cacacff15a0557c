"""Released codes to rows and files; no private row comes here."""
