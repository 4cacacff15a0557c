# Schemas, settings and conditions on their way to Python, as JSON.

# Keys of which the value is a list, also where R has one value.
listed_keys <- c(
  "categories", "enum", "missingValues", "special", "questions", "trueValues", "falseValues", "columns", "prefixes"
)

to_json <- function(value) {
  found <- jsonlite::toJSON(
    plain(value),
    auto_unbox = TRUE, null = "null", na = "null", digits = NA, force = TRUE
  )
  enc2utf8(as.character(found))
}

plain <- function(value, key = "") {
  if (is.null(value)) return(NULL)
  if (inherits(value, "lapwing_between")) {
    return(list(lapwing_between = lapply(unclass(value), plain)))
  }
  if (is.list(value) && !inherits(value, "POSIXlt")) {
    keys <- if (is.null(names(value))) character(length(value)) else names(value)
    found <- Map(plain, unclass(value), keys)
    return(if (is.null(names(value))) unname(found) else stats::setNames(found, names(value)))
  }
  value <- plain_cells(value)
  if (!is.null(names(value)) || key %in% listed_keys) as.list(value) else value
}

# Values as JSON has them: moments in UTC.
plain_cells <- function(value) {
  if (is.factor(value)) {
    as.character(value)
  } else if (inherits(value, "Date")) {
    format(value, "%Y-%m-%d")
  } else if (inherits(value, "POSIXt")) {
    format(as.POSIXct(value), "%Y-%m-%dT%H:%M:%S", tz = "UTC")
  } else if (inherits(value, "integer64")) {
    as.double(format(value))
  } else if (is.character(value)) {
    stats::setNames(enc2utf8(as.character(value)), names(value))
  } else {
    value
  }
}

# The settings of `...`: named, and paths without "~".
settings_json <- function(...) {
  found <- list(...)
  if (length(found) && (is.null(names(found)) || any(names(found) == ""))) {
    fail("settings after the first ones must be named; write seed = 1, say", "LW308")
  }
  found <- found[!vapply(found, is.null, NA)]
  for (name in intersect(names(found), c("ledger", "transcript"))) {
    if (is.character(found[[name]])) found[[name]] <- path.expand(found[[name]])
  }
  if (length(found)) to_json(found) else "{}"
}

#' A range in a condition
#'
#' @param low,high The ends, both included: numbers, dates, or categories that have an order. One of them may be
#'   `NULL`, for the end of the column's domain.
#' @return What `where` of [sample_rows()] and [accuracy()] takes for a column.
#' @examples
#' list(age = between(30, 39), sex = "Female")
#' @export
between <- function(low = NULL, high = NULL) {
  structure(list(low, high), class = "lapwing_between")
}

#' @export
print.lapwing_between <- function(x, ...) {
  ends <- vapply(x, function(end) if (is.null(end)) "the end" else format(end), "")
  cat("between", ends[[1]], "and", ends[[2]], "\n")
  invisible(x)
}
