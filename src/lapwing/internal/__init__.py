"""Work on private rows whose results stay inside: schema draft and check."""
