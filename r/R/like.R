# The classes of the frame that came in, so that synthetic rows have them too. Classes and labels, and no cell. Whether
# a column is integer, double, integer64, logical or character is for the schema to say: where R reads a file, one cell
# can change it. Labels of haven are the code book of a file, and count as public.

like_of <- function(df, fields) {
  names <- intersect(names(df), names(fields))
  container <- if (inherits(df, "ArrowTabular")) "arrow" else if (inherits(df, "tbl_df")) "tibble" else "data.frame"
  # Of an Arrow table the first rows have its types.
  shown <- if (container == "arrow") as.data.frame(df[0, ]) else df
  columns <- lapply(names, function(name) like_column(shown[[name]], fields[[name]]))
  list(container = container, columns = stats::setNames(columns, names))
}

like_column <- function(column, field) {
  labels <- attr(column, "labels")
  if (inherits(column, "haven_labelled")) {
    by_label <- is_by_label(labels, field)
    about <- list(labels = inside(labels, field, by_label), label = attr(column, "label", exact = TRUE))
    return(c(list(kind = "labelled", base = typeof(column), by_label = by_label), about))
  }
  kind <- if (is.factor(column)) "factor" else column_kind(column)
  list(kind = kind, tz = attr(column, "tzone")[1])
}

# The labels of values that the schema knows.
inside <- function(labels, field, by_label) {
  categories <- as.character(unlist(field$categories))
  if (length(categories)) {
    return(labels[(if (by_label) names(labels) else as.character(labels)) %in% categories])
  }
  ends <- field$constraints
  if (!is.numeric(labels) || !is.numeric(ends$minimum) || !is.numeric(ends$maximum)) return(labels)
  labels[(labels >= ends$minimum & labels <= ends$maximum) | labels %in% unlist(field$special)]
}

most_integer <- .Machine$integer.max

# The most that a field of whole numbers can show, as far as R's integers and doubles are concerned.
largest <- function(field) {
  known <- c(unlist(field$constraints[c("minimum", "maximum")]), unlist(field$special), unlist(field$categories))
  if (!length(known)) 0 else max(abs(as.numeric(known)))
}

is_wide <- function(field) {
  whole <- field$type == "integer" && requireNamespace("bit64", quietly = TRUE)
  whole && largest(field) > 2^53
}

# Values of the schema's type in the class of the column that came in, where that can hold the schema's values.
restored <- function(values, field, like) {
  kind <- if (is.null(like)) "" else like$kind
  categories <- unlist(field$categories)
  if (kind == "labelled") return(relabelled(values, field, like))
  if (kind == "factor" && length(categories)) return(as_levels(values, field))
  switch(field$type,
    string = as_text(values, field, kind),
    integer = as_whole(values, field),
    datetime = .POSIXct(as.double(values), tz = if (is.null(like$tz)) "UTC" else like$tz),
    values
  )
}

as_levels <- function(values, field) {
  factor(as.character(values), as.character(unlist(field$categories)), ordered = isTRUE(field$categoriesOrdered))
}

as_text <- function(values, field, kind) {
  if (kind == "factor") return(factor(values))
  # Without a class to follow, categories are a factor.
  if (kind == "" && length(field$categories)) as_levels(values, field) else values
}

as_whole <- function(values, field) {
  if (inherits(values, "integer64") || largest(field) > most_integer) return(values)
  # Identifiers are numbers from 1, as many as there are rows.
  as.integer(values)
}

# A column of 'haven' again: codes, with the labels that it came with.
relabelled <- function(values, field, like) {
  is_listed <- like$by_label && all(unlist(field$categories) %in% names(like$labels))
  if (like$by_label && !is_listed) return(as_levels(values, field))
  codes <- if (like$by_label) unname(like$labels)[match(values, names(like$labels))] else values
  is_number <- like$base %in% c("integer", "double")
  if (is_number && is.character(codes)) {
    if (!all(grepl("^-?[0-9]+(\\.[0-9]+)?$", unlist(field$categories)))) return(as_levels(values, field))
    codes <- as.double(codes)
  }
  if (!requireNamespace("haven", quietly = TRUE)) return(codes)
  labels <- like$labels
  base <- if (is_number && (like$base == "double" || field$type == "number")) "double" else like$base
  storage.mode(codes) <- base
  if (!is.null(labels)) storage.mode(labels) <- base
  haven::labelled(codes, labels, like$label)
}

in_container <- function(rows, container) {
  if (container == "arrow" && requireNamespace("arrow", quietly = TRUE)) return(arrow::arrow_table(rows))
  if (container == "tibble" && requireNamespace("tibble", quietly = TRUE)) return(tibble::as_tibble(rows))
  rows
}
