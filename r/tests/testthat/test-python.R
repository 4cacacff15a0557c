test_that("a Python that is not there is named, with what to do", {
  said <- told_by("lapwing::lapwing_example()", "LAPWING_PYTHON=/no/such/python")
  expect_match(said, 'LW701 there is no Python at "/no/such/python"; give the path of one that has lapwing', fixed = TRUE)
  said <- told_by("lapwing::lapwing_python(\"/no/such/python\")")
  expect_match(said, "LW701 there is no Python", fixed = TRUE)
})

test_that("a Python without lapwing is named, with how to install it", {
  skip_without_python()
  used <- lapwing_python()
  # Without the packages that stand beside it, and those of PYTHONPATH.
  bare <- tempfile()
  status <- system2(used, c("-m", "venv", "--without-pip", shQuote(bare)), stdout = FALSE, stderr = FALSE)
  skip_if(status != 0, "no bare environment of Python can be made")
  said <- told_by("lapwing::lapwing_example()", c(paste0("LAPWING_PYTHON=", bare, "/bin/python"), "PYTHONPATH="))
  expect_match(said, "LW701 the Python at", fixed = TRUE)
  expect_match(said, "has no lapwing; install it with `pip install lapwing`", fixed = TRUE)
})

test_that("another Python comes too late once one runs", {
  skip_without_python()
  expect_identical(lapwing_python(lapwing_python()), lapwing_python())
  error <- expect_error(lapwing_python(file.path(R.home("bin"), "R")), class = "lapwing_error")
  expect_match(conditionMessage(error), "already runs another Python")
})

test_that("Ctrl-C ends a release, also once noise was drawn", {
  skip_without_python()
  skip_on_os("windows")
  code <- '
    library(lapwing)
    adult <- lapwing_example()
    once <- function() synthesize(adult$data, adult$schema, epsilon = 1, mechanism = "Independent")
    invisible(once())
    system(sprintf("(sleep 2; kill -INT %d) &", Sys.getpid()))
    stopped <- tryCatch({for (i in 1:40) once(); FALSE}, interrupt = function(condition) TRUE)
    cat("stopped:", stopped, "and alive:", is.numeric(query(once(), "sex")$count))'
  # Between R and Python a signal is lost, about one in fifteen: then it is sent again.
  said <- ""
  for (attempt in 1:4) {
    if (!grepl("stopped: TRUE and alive: TRUE", said, fixed = TRUE)) said <- paste(elsewhere(code), collapse = "\n")
  }
  expect_match(said, "stopped: TRUE and alive: TRUE", fixed = TRUE)
})
