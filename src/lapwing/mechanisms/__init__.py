"""One file per published system; none of them sees a row."""
