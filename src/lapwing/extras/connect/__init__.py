"""Other tools' tables and metadata: code books, Croissant, files of SPSS, Stata, SAS and Excel, databases, stores.

In: files and addresses that somebody names. Out: schemas; tables of cells, which `rows` reads inside its guard, so
`tables` is trusted as `rows` is; descriptions of released rows.
"""
