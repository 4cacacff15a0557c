# What is text for people and figures for programs: a list that prints as text.

told <- function(found, class) {
  figures <- jsonlite::fromJSON(found$json)
  structure(figures, text = found$text, class = c(class, "lapwing_text"))
}

#' @export
print.lapwing_text <- function(x, ...) {
  cat(sub("\n$", "", attr(x, "text")), "\n", sep = "")
  invisible(x)
}

#' How far counts may be off
#'
#' @param release A release.
#' @param columns Names of columns, for the accuracy of their table; all measured tables by default.
#' @param confidence Of each bound, between 0 and 1.
#' @param where For the accuracy of the number of rows that match: as for [sample_rows()], or a text such as
#'   `"age >= 30"`.
#' @param groups As for [query()].
#' @return A list of figures that prints as sentences. Costs no budget.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' release <- synthesize(data.frame(smoker = rep(c(TRUE, FALSE), 500)), schema, epsilon = 1)
#' accuracy(release, where = list(smoker = TRUE))
#' @export
accuracy <- function(release, columns = NULL, confidence = 0.95, where = NULL, groups = NULL) {
  settings <- settings_json(columns = columns, confidence = confidence, groups = groups)
  condition <- if (is.null(where)) NULL else to_json(where)
  told(ask_r("accuracy", python_of(release), settings, condition), "lapwing_accuracy")
}

#' What a release would cost, and how exact it would be
#'
#' @inheritParams synthesize
#' @param expected_rows A public guess of the number of rows, made without the data.
#' @param ... Other settings of 'lapwing.plan', by name: `rho`, `neighbours`, `public_tables`, `memory`.
#' @return A list of figures that prints as a plan. No row is read, and no budget spent.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' plan(schema, expected_rows = 1000, epsilon = 1)$mechanism
#' @export
plan <- function(schema, expected_rows, epsilon = NULL, delta = NULL, ..., mechanism = NULL) {
  settings <- settings_json(
    expected_rows = expected_rows, epsilon = epsilon, delta = delta, ..., mechanism = mechanism
  )
  told(ask_r("plan", read_schema(schema), settings), "lapwing_plan")
}

#' Compare synthetic rows with the private ones
#'
#' The result is *internal*, as it is computed from private rows without noise, unless a budget is given.
#'
#' @param real,synthetic The private and the synthetic rows, as for [synthesize()].
#' @param schema As for [synthesize()].
#' @param ... Settings of 'lapwing.evaluate', by name: `target`, `by`, `seed`; with a budget `epsilon`, `delta`, `rho`,
#'   `neighbours`, `expected_rows`, `ledger`, `dataset`, `transcript`.
#' @return A list of figures that prints as text.
#' @examplesIf lapwing::lapwing_available()
#' schema <- list(fields = list(list(name = "smoker", type = "boolean")))
#' real <- data.frame(smoker = rep(c(TRUE, FALSE), 500))
#' synthetic <- sample_rows(synthesize(real, schema, epsilon = 1))
#' class(evaluate(real, synthetic, schema))
#' @export
evaluate <- function(real, synthetic, schema, ...) {
  settings <- settings_json(...)
  known <- read_schema(schema)
  fields <- fields_of(known)
  found <- ask_r("evaluate", given_table(real, fields), given_table(synthetic, fields), known, settings)
  told(found, "lapwing_evaluation")
}

#' The bundled sample of a census table
#'
#' @return A list: `data`, a data frame of public rows of the Adult data set, and `schema`, the path of its schema.
#' @examplesIf lapwing::lapwing_available()
#' head(lapwing_example()$data[1:4], 3)
#' @export
lapwing_example <- function() {
  found <- ask_r("example")
  known <- fields_of(read_schema(found$schema))
  columns <- lapply(found$columns, function(part) {
    restored(decoded(part), known[[part$name]], NULL)
  })
  names <- vapply(found$columns, function(part) part$name, "")
  list(data = as_frame(columns, names, length(columns[[1]])), schema = found$schema)
}
