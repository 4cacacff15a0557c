#' Differentially private synthetic data
#'
#' [synthesize()] turns a data frame into a release: a model from which [sample_rows()] draws as many synthetic rows as
#' you like. The work is done by the Python library 'lapwing' in the same process; [lapwing_python()] chooses the Python.
#' What people can learn from a release about anybody is bounded by `epsilon`, whatever else they know.
#'
#' @section Conditions:
#' What goes wrong is one sentence, as a condition of class `lapwing_error` with a field `code`, such as `"LW301"`
#' (`lapwing explain LW301` says more), and never quotes a cell. Warnings are of class `lapwing_warning`, with a
#' code too.
#'
#' @section Values:
#' `NA` is missing, and the text `"NA"` is a text. `NaN` and infinite dates are missing too, as are values that
#' 'haven' has declared missing. A `POSIXct` is a moment: schemas and synthetic rows are in UTC, shown in the time zone
#' of the column that came in. A column of 'haven' with value labels is read as its codes, or as its labels where these
#' are the categories of the schema. Only columns that the schema models, and the one that names the privacy unit, go
#' to Python.
#'
#' @keywords internal
"_PACKAGE"
