# The public description of a table.

read_schema <- function(schema) {
  if (is.list(schema)) {
    return(ask("schema", to_json(schema)))
  }
  if (!is.character(schema) || length(schema) != 1 || is.na(schema)) {
    fail("a schema is a path, a list or JSON text; give one of these", "LW206")
  }
  ask("schema", if (grepl("^\\s*\\{", schema)) enc2utf8(schema) else path.expand(schema))
}

fields_of <- function(known) {
  found <- jsonlite::fromJSON(ask_r("fields", known), simplifyVector = FALSE)
  unit <- found$privacyUnit$field
  is_used <- function(field) !identical(field$role, "identifier") || identical(field$name, unit)
  fields <- lapply(found$fields, function(field) c(field, is_used = is_used(field)))
  stats::setNames(fields, vapply(fields, function(field) field$name, ""))
}

field_types <- c(
  logical = "boolean", integer = "integer", integer64 = "integer", double = "number", text = "string", date = "date",
  moment = "datetime"
)

#' Draft a schema from the classes of columns
#'
#' Looks at names and classes alone, and at no cell: the levels of a factor and the labels of 'haven' are usually made
#' from the data, so that they are left open, unless you say that they are public. Fill in each `NULL` from public
#' knowledge, set `provenance` to where it is known from (`"public"`, or `"assumed"` where you took it from the data),
#' and take `draft` out; nothing is released under a draft.
#'
#' @param df A data frame.
#' @param public_levels Names of columns whose levels, or labels, are public: known without the data, and complete.
#' @return A list in the format of a schema file; [write_schema()] writes it.
#' @examples
#' schema_from_types(data.frame(age = 1L, ward = factor("A")))$fields[[2]]$type
#' @export
schema_from_types <- function(df, public_levels = character()) {
  unknown <- setdiff(public_levels, names(df))
  if (length(unknown)) {
    fail(sprintf("public_levels names %s, which is no column; name columns of the table", dQuote(unknown[1], FALSE)), "LW104")
  }
  fields <- lapply(names(df), function(name) drafted_field(df[[name]], name, name %in% public_levels))
  taken <- intersect(names(df), public_levels)
  if (length(taken)) {
    message("Taken as public, because you say that they are known without the data: the values of ",
            paste(dQuote(taken, FALSE), collapse = ", "), ".")
  }
  list(draft = TRUE, fields = fields)
}

drafted_field <- function(column, name, is_public) {
  kind <- column_kind(column)
  if (kind %in% c("nested", "other")) {
    fail(sprintf("column %s holds what no field can hold; drop it, or convert it", dQuote(name, FALSE)), "LW107")
  }
  field <- list(name = name, type = field_types[[kind]])
  known <- if (is.factor(column)) levels(column) else unname(attr(column, "labels"))
  if (is_public && is.null(known)) {
    fail(sprintf("column %s has neither levels nor labels; take it out of public_levels", dQuote(name, FALSE)), "LW304")
  }
  if (is_public) {
    field$categories <- as.list(known[!is.na(known)])
    if (is.ordered(column)) field$categoriesOrdered <- TRUE
  } else if (kind == "text") {
    field["categories"] <- list(NULL)
  } else if (kind != "logical") {
    field$constraints <- list(minimum = NULL, maximum = NULL)
  }
  c(field, provenance = if (is_public) "public" else "drafted")
}

#' Write a schema to a file
#'
#' @param schema A list, as [schema_from_types()] returns it.
#' @param path The file, whose name usually ends in `.schema.json`.
#' @return The path, invisibly.
#' @examples
#' path <- tempfile(fileext = ".json")
#' write_schema(schema_from_types(data.frame(age = 1L)), path)
#' @export
write_schema <- function(schema, path) {
  writeLines(jsonlite::prettify(to_json(schema), indent = 1), path, useBytes = TRUE)
  invisible(path)
}
