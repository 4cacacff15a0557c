# Without a Python that has lapwing the tests are skipped, unless LAPWING_PYTHON names one that must have it.
skip_without_python <- function() {
  if (nzchar(Sys.getenv("LAPWING_PYTHON"))) {
    lapwing_python()
  } else {
    skip_if_not(lapwing_available(), "no Python with lapwing")
  }
}

# A schema of one field.
field_schema <- function(...) list(fields = list(list(...)))

# Little budget and lists without a source are warned of; that is no matter of most tests.
quiet <- function(code) {
  withCallingHandlers(code, lapwing_warning = function(warning) invokeRestart("muffleWarning"))
}

# With so much budget there is next to no noise: counts are those of the table.
released <- function(df, ...) {
  quiet(synthesize(df, field_schema(...), epsilon = 1e5, mechanism = "Independent", misfits = 1))
}

counts <- function(release, column) {
  found <- query(release, column, groups = 1000)
  stats::setNames(round(found$count), found[[column]])
}

# What another session of R prints.
elsewhere <- function(code, env = character()) {
  rscript <- file.path(R.home("bin"), "Rscript")
  env <- c(env, paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)))
  suppressWarnings(system2(rscript, c("-e", shQuote(code)), stdout = TRUE, stderr = TRUE, env = env))
}

told_by <- function(code, env = character()) {
  caught <- sprintf("tryCatch({%s}, lapwing_error = function(e) cat(e$code, conditionMessage(e)))", code)
  paste(elsewhere(caught, env), collapse = "\n")
}
