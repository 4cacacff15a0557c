# The way to Python: which one, how it is asked, and how its errors and warnings become conditions of R.

state <- new.env(parent = emptyenv())

install_hint <- "install it with `pip install lapwing`, and name that Python in LAPWING_PYTHON or lapwing_python(path)"

#' Choose the Python that has 'lapwing'
#'
#' A session of R has one Python, which starts when it is first needed. Without a choice it is that of the environment
#' variables `LAPWING_PYTHON` or `RETICULATE_PYTHON`, else the one that 'reticulate' finds.
#'
#' @param path Path of a Python, such as `"~/venv/bin/python"`; `NULL` to ask which one is used.
#' @return The path of the Python, invisibly where one was given.
#' @examplesIf lapwing::lapwing_available()
#' basename(dirname(lapwing_python()))
#' @export
lapwing_python <- function(path = NULL) {
  if (is.null(path)) {
    bridge()
    return(reticulate::py_config()$python)
  }
  path <- python_file(path)
  if (reticulate::py_available() && !same_file(path, reticulate::py_config()$python)) {
    fail("this session of R already runs another Python; call lapwing_python() first in a new session", "LW701")
  }
  state$python <- path
  invisible(path)
}

#' Is 'lapwing' installed for Python?
#'
#' @return `TRUE` or `FALSE`; starts Python.
#' @export
lapwing_available <- function() {
  tryCatch(
    {
      bridge()
      TRUE
    },
    lapwing_error = function(error) FALSE
  )
}

python_file <- function(path) {
  found <- path.expand(path)
  if (!grepl("[/\\\\]", found)) found <- unname(Sys.which(found))
  if (!nzchar(found) || !file.exists(found)) {
    fail(sprintf("there is no Python at %s; give the path of one that has lapwing", dQuote(path, FALSE)), "LW701")
  }
  found
}

same_file <- function(one, other) {
  # The folders: in a virtual environment the program itself is a link to that of the system.
  normalizePath(dirname(one)) == normalizePath(dirname(other))
}

bridge <- function() {
  if (is.null(state$bridge)) state$bridge <- start_python()
  state$bridge
}

start_python <- function() {
  if (!reticulate::py_available()) {
    chosen <- c(state$python, Sys.getenv(c("LAPWING_PYTHON", "RETICULATE_PYTHON")))
    chosen <- chosen[nzchar(chosen)]
    # 'reticulate' offers to download a Python where it finds none.
    before <- Sys.getenv("RETICULATE_MINICONDA_ENABLED", NA)
    Sys.setenv(RETICULATE_MINICONDA_ENABLED = "FALSE")
    on.exit(if (is.na(before)) Sys.unsetenv("RETICULATE_MINICONDA_ENABLED") else {
      Sys.setenv(RETICULATE_MINICONDA_ENABLED = before)
    })
    if (length(chosen)) Sys.setenv(RETICULATE_PYTHON = python_file(chosen[[1]]))
    started <- tryCatch(reticulate::py_available(initialize = TRUE), error = function(error) FALSE)
    if (!started) fail(paste0("lapwing needs Python 3.11 or newer, and none starts; ", install_hint), "LW701")
  }
  used <- dQuote(reticulate::py_config()$python, FALSE)
  if (!reticulate::py_module_available("lapwing")) {
    fail(sprintf("the Python at %s has no lapwing; %s", used, install_hint), "LW701")
  }
  tryCatch(
    reticulate::import_from_path("lapwing_for_r", system.file("python", package = "lapwing"), convert = FALSE),
    error = function(error) {
      why <- strsplit(conditionMessage(error), "\n")[[1]][1]
      fail(sprintf("the Python at %s cannot import lapwing (%s); %s", used, why, install_hint), "LW701")
    }
  )
}

# Ask a function of inst/python/lapwing_for_r.py. Returns an object of Python.
ask <- function(name, ...) {
  found <- bridge()$answer(name, ...)
  part <- function(key) reticulate::py_get_item(found, key, silent = TRUE)
  # options(warn = 2) would turn a warning into the loss of what was paid for.
  before <- options(warn = min(getOption("warn"), 1L))
  on.exit(options(before))
  for (each in reticulate::py_to_r(part("warnings"))) {
    warning(structure(
      class = c("lapwing_warning", "warning", "condition"),
      list(message = each$message, call = NULL, code = each$code)
    ))
  }
  if (!is.null(part("interrupted"))) {
    signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
    invokeRestart("abort")
  }
  error <- part("error")
  if (!is.null(error)) {
    kind <- reticulate::py_to_r(part("kind"))
    fail(reticulate::py_to_r(error), reticulate::py_to_r(part("code")), kind)
  }
  part("value")
}

ask_r <- function(name, ...) {
  # First: py_to_r() would start a Python of its own choice.
  found <- ask(name, ...)
  reticulate::py_to_r(found)
}

fail <- function(message, code, kind = "LapwingError") {
  stop(structure(
    class = unique(c(kind, "lapwing_error", "error", "condition")),
    list(message = message, call = NULL, code = code)
  ))
}
