#' Make a differentially private release of a table
#'
#' @param df The private rows: a data frame, a tibble, an Arrow table, or the path of a file that 'lapwing' reads.
#'   Columns that the schema does not name are ignored.
#' @param schema Everything public about the table, in the format of a schema file: a path, a list, or JSON text.
#' @param epsilon The privacy budget, above 0. Alone: pure differential privacy.
#' @param delta A number in `[0, 1)` that goes with `epsilon`; there is no default.
#' @param ... Other settings of 'lapwing.synthesize', by name: `rho` (instead of `epsilon`), `neighbours`,
#'   `expected_rows`, `transcript`, `seed`, `public_tables`, `memory`, `misfits`.
#' @param mechanism A name, or a list of a name and settings, such as `list(name = "PMM", resolutions = c(16, 8))`. The
#'   default depends on the schema alone.
#' @param ledger Path of a ledger made by `lapwing ledger init`: the budget is debited there before the first noise.
#' @param dataset The data set's name in the ledger.
#' @return A release: everything that is done with it is free. [sample_rows()] draws rows, [query()] counts,
#'   [accuracy()] says how far counts may be off, [save_release()] keeps it, `summary()` shows its certificate.
#' @examplesIf lapwing::lapwing_available()
#' patients <- data.frame(smoker = rep(c(TRUE, FALSE, NA), c(300, 600, 100)), ward = factor(rep(c("A", "B"), 500)))
#' schema <- list(fields = list(
#'   list(name = "smoker", type = "boolean"),
#'   list(name = "ward", type = "string", categories = c("A", "B", "C"), provenance = "public")
#' ))
#' release <- synthesize(patients, schema, epsilon = 1, mechanism = "Independent")
#' sample_rows(release, 3, seed = 1)
#' @export
synthesize <- function(df, schema, epsilon = NULL, delta = NULL, ..., mechanism = NULL, ledger = NULL, dataset = NULL) {
  settings <- settings_json(
    epsilon = epsilon, delta = delta, ..., mechanism = mechanism, ledger = ledger, dataset = dataset
  )
  known <- read_schema(schema)
  fields <- fields_of(known)
  release <- ask("synthesize", given_table(df, fields), known, settings)
  new_release(release, fields, if (is.character(df)) NULL else df)
}

given_table <- function(df, fields) if (is.character(df)) path.expand(df) else to_frame(df, fields)

new_release <- function(python, fields, df) {
  like <- if (is.null(df)) list(container = "data.frame", columns = list()) else like_of(df, fields)
  structure(list(python = python, fields = fields, like = like), class = "lapwing_release")
}

# Objects of Python do not outlive the session.
python_of <- function(release) {
  if (!inherits(release, "lapwing_release")) fail("this is no release; give one that synthesize() returned", "LW304")
  if (reticulate::py_is_null_xptr(release$python)) {
    fail("this release is of an earlier session of R; keep releases by save_release() and load_release()", "LW318")
  }
  release$python
}

#' Draw synthetic rows
#'
#' @param release A release.
#' @param n Number of rows; by default the released number of rows, or of those expected to match `where`.
#' @param seed A whole number, for the same rows each time.
#' @param where Only rows that match, drawn from the model given the condition, which must be public: a list of columns
#'   with a value, several values or [between()]; or a data frame, one row for each row of it. `NA` is missing.
#' @return Rows of the kind that came in (data frame, tibble, Arrow table), with the schema's columns. Factors have the
#'   schema's categories as levels, in its order; texts are text where they came as text; columns of 'haven' have their
#'   labels; moments have the time zone that they came with.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' release <- synthesize(data.frame(smoker = rep(c(TRUE, FALSE), 500)), schema, epsilon = 1)
#' sample_rows(release, 2, where = list(smoker = TRUE))
#' @export
sample_rows <- function(release, n = NULL, seed = NULL, where = NULL) {
  python <- python_of(release)
  fields <- release$fields
  like <- release$like$columns
  wide <- names(fields)[vapply(fields, is_wide, NA)]
  parts <- ask_r("sample", python, n, seed, conditions(where, fields), as.list(wide))
  columns <- lapply(parts, function(part) restored(decoded(part), fields[[part$name]], like[[part$name]]))
  rows <- as_frame(columns, vapply(parts, function(part) part$name, ""), length(parts[[1]]$missing) / 4L)
  in_container(rows, release$like$container)
}

conditions <- function(where, fields) {
  if (is.null(where)) return(NULL)
  if (is.data.frame(where) || inherits(where, "ArrowTabular")) return(to_frame(where, fields, all = TRUE))
  to_json(where)
}

#' Count with a release
#'
#' @param release A release.
#' @param columns Names of one to a few columns.
#' @param groups About how many groups a column of many ordered values is shown in, or `"measured"`.
#' @param confidence Of each interval, between 0 and 1.
#' @param weighted Whether to show weighted totals, by the weight that the schema names.
#' @return A data frame with a line for each cell: the columns, `count`, `share`, and `lower` and `upper`, between which
#'   the true count lies with probability `confidence` or more; `NA` where no noisy count covers the cell.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' release <- synthesize(data.frame(smoker = rep(c(TRUE, FALSE), 500)), schema, epsilon = 1)
#' query(release, "smoker")
#' @export
query <- function(release, columns, groups = 20, confidence = 0.95, weighted = FALSE) {
  settings <- list(columns = columns, groups = groups, confidence = confidence, weighted = weighted)
  parts <- ask_r("query", python_of(release), to_json(settings))
  as_frame(lapply(parts, decoded), vapply(parts, function(part) part$name, ""), length(parts[[1]]$missing) / 4L)
}

#' Save a release, and read it again
#'
#' A `.lapwing` file holds released numbers only. Objects of R that hold a release do not outlive the session.
#'
#' @param release A release.
#' @param path The file; files of strangers are safe to read.
#' @param like A data frame whose classes the rows shall have; only the classes are looked at.
#' @return `load_release()` returns a release, `save_release()` the path, invisibly.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' release <- synthesize(data.frame(smoker = rep(c(TRUE, FALSE), 500)), schema, epsilon = 1)
#' path <- tempfile(fileext = ".lapwing")
#' save_release(release, path)
#' load_release(path)
#' @export
save_release <- function(release, path) {
  ask("save", python_of(release), path.expand(path))
  invisible(path)
}

#' @rdname save_release
#' @export
load_release <- function(path, like = NULL) {
  python <- ask("load", path.expand(path))
  new_release(python, fields_of(ask("schema_of", python)), like)
}

#' @export
print.lapwing_release <- function(x, ...) {
  cat(ask_r("shown", python_of(x)), "\n", sep = "")
  invisible(x)
}

#' @export
summary.lapwing_release <- function(object, ...) told(ask_r("certificate", python_of(object)), "lapwing_certificate")
