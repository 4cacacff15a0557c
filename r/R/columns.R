# Columns of R as buffers for Python, each by its class. No cell decides how a column is read.

# The private columns that a schema needs, as a frame of Polars in this process.
to_frame <- function(df, fields = list(), all = FALSE) {
  df <- as_data_frame(df)
  wanted <- if (all) names(df) else names(fields)[vapply(fields, function(field) field$is_used, NA)]
  places <- which(names(df) %in% wanted)
  columns <- lapply(places, function(place) encoded(df[[place]], names(df)[[place]], fields[[names(df)[[place]]]]))
  ask("frame", columns, as.double(nrow(df)))
}

as_data_frame <- function(df) {
  if (inherits(df, "ArrowTabular")) df <- as.data.frame(df)
  if (!is.data.frame(df)) {
    fail(sprintf("a table is a data frame, an Arrow table or the path of a file, got an object of class %s", class(df)[1]), "LW108")
  }
  df
}

column_kind <- function(column) {
  if (inherits(column, "POSIXt")) return("moment")
  if (is.list(column) || length(dim(column)) > 1) return("nested")
  if (is.factor(column)) return("text")
  if (inherits(column, "Date")) return("date")
  if (inherits(column, "integer64")) return("integer64")
  if (inherits(column, "difftime") || isS4(column)) return("other")
  switch(typeof(column),
    logical = "logical", integer = "integer", raw = "integer", double = "double", character = "text",
    "other"
  )
}

encoded <- function(column, name, field) {
  if (inherits(column, "haven_labelled")) column <- unlabelled(column, field)
  kind <- column_kind(column)
  parts <- switch(kind,
    text = text_parts(column),
    logical = , integer = list(data = writeBin(as.integer(column), raw())),
    integer64 = , double = , date = list(data = writeBin(as.double(unclass(column)), raw())),
    moment = list(data = writeBin(as.double(unclass(as.POSIXct(column))), raw())),
    other = list(data = writeBin(ifelse(is.na(column), NA_integer_, 0L), raw())),
    list()
  )
  c(list(name = enc2utf8(name), kind = kind), parts)
}

# Places in a list of texts, from 1, and the texts, each with a zero byte at its end.
text_parts <- function(column) {
  if (is.factor(column)) {
    texts <- enc2utf8(levels(column))
    places <- as.integer(column)
    places[places %in% which(is.na(texts))] <- NA
    texts[is.na(texts)] <- ""
  } else {
    cells <- enc2utf8(as.character(column))
    texts <- unique(cells)
    texts <- texts[!is.na(texts)]
    places <- match(cells, texts)
  }
  list(data = writeBin(places, raw()), levels = writeBin(texts, raw(), useBytes = TRUE))
}

# A column of 'haven' as codes, or as labels where these are the schema's categories; declared missing is missing.
unlabelled <- function(column, field) {
  labels <- attr(column, "labels")
  missing <- is.na(unclass(column)) | unclass(column) %in% attr(column, "na_values")
  range <- attr(column, "na_range")
  if (!is.null(range)) missing <- missing | (unclass(column) >= range[1] & unclass(column) <= range[2])
  values <- as.vector(unclass(column))
  attributes(values) <- NULL
  values[missing] <- NA
  if (!is_by_label(labels, field)) return(values)
  at <- match(values, labels)
  ifelse(is.na(at), as.character(values), names(labels)[at])
}

# Whether the categories of a field are labels, and no codes.
is_by_label <- function(labels, field) {
  categories <- as.character(unlist(field$categories))
  any(categories %in% names(labels)) && !any(categories %in% as.character(labels))
}

# Columns from Python as vectors of R: of the schema's types, without classes of the user's own.
decoded <- function(part) {
  missing <- readBin(part$missing, "integer", length(part$missing) / 4L) == 1L
  rows <- length(missing)
  read <- function(what) readBin(part$data, what, rows)
  values <- switch(part$kind,
    logical = as.logical(read("integer")),
    text = {
      texts <- readBin(part$levels, "character", sum(part$levels == 0L))
      Encoding(texts) <- "UTF-8"
      places <- read("integer")
      places[missing] <- NA  # the place 0 would be left out
      texts[places]
    },
    date = structure(read("double"), class = "Date"),
    moment = .POSIXct(read("double"), tz = "UTC"),
    integer64 = structure(read("double"), class = "integer64"),
    read("double")
  )
  if (part$kind == "integer64") {
    values[missing] <- bit64::NA_integer64_
  } else {
    values[missing] <- NA
  }
  values
}

as_frame <- function(columns, names, rows) {
  stopifnot(lengths(columns) == rows)
  structure(columns, names = names, row.names = .set_row_names(rows), class = "data.frame")
}
