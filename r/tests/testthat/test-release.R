skip_without_python()

schema <- list(fields = list(
  list(name = "sex", type = "string", categories = c("f", "m"), constraints = list(required = TRUE)),
  list(name = "age", type = "integer", constraints = list(minimum = 0, maximum = 99)),
  list(name = "day", type = "date", constraints = list(minimum = "2020-01-01", maximum = "2020-12-31"), resolution = "month")
))
df <- data.frame(
  sex = factor(rep(c("f", "m"), 500)), age = rep(c(NA, 20:38), 50), day = as.Date("2020-01-01") + 0:199
)
release <- quiet(synthesize(df, schema, epsilon = 10, seed = 1))

test_that("a schema is a list, a path or JSON text", {
  path <- tempfile(fileext = ".json")
  write_schema(schema, path)
  text <- paste(readLines(path), collapse = "\n")

  plans <- lapply(list(schema, path, text), plan, expected_rows = 1000, epsilon = 1, mechanism = "Independent")
  expect_equal(plans[[1]], plans[[2]])
  expect_equal(plans[[1]], plans[[3]])
  expect_equal(plans[[1]]$mechanism, "Independent")
  expect_output(print(plans[[1]]), "Cost: epsilon 1 for")
})

test_that("rows are the same for a seed, and as many as one asks for", {
  expect_identical(sample_rows(release, 7, seed = 3), sample_rows(release, 7, seed = 3))
  expect_equal(nrow(sample_rows(release, 7)), 7)
  expect_equal(nrow(sample_rows(release)), 1000, tolerance = 0.05)
  expect_named(sample_rows(release, 1), c("sex", "age", "day"))
})

test_that("conditions are values, lists, ranges, missing cells and tables", {
  expect_true(all(sample_rows(release, 20, where = list(sex = factor("f", c("m", "f"))))$sex == "f"))
  expect_true(all(sample_rows(release, 20, where = list(age = c(21, 22)))$age %in% 21:22))
  expect_true(all(sample_rows(release, 20, where = list(age = between(30, 35)))$age %in% 30:35))
  expect_true(all(sample_rows(release, 20, where = list(age = between(35)))$age >= 35))
  expect_output(print(between(35)), "between 35 and the end")
  expect_true(all(is.na(sample_rows(release, 20, where = list(age = NA))$age)))
  ends <- as.Date(c("2020-02-01", "2020-03-31"))
  expect_true(all(format(sample_rows(release, 20, where = list(day = between(ends[1], ends[2])))$day, "%m") %in% c("02", "03")))

  given <- data.frame(sex = factor(c("m", "f", "m")), age = c(30L, NA, 25L))
  rows <- sample_rows(release, where = given)
  expect_equal(as.character(rows$sex), c("m", "f", "m"))
  expect_equal(rows$age, given$age)
})

test_that("counts and their accuracy are told in figures and words", {
  found <- query(release, c("sex", "age"), groups = 4)
  expect_named(found, c("sex", "age", "count", "share", "lower", "upper", "basis"))
  expect_equal(sum(found$share), 1)

  count <- accuracy(release, where = list(sex = "f"))
  expect_equal(count$count, 500, tolerance = 0.05)
  expect_output(print(count), "the number of rows", ignore.case = TRUE)
  expect_output(print(accuracy(release)), ".")
  expect_output(print(accuracy(release, c("sex", "age"))), "table of sex and age|table of sex, age|sex")
})

test_that("a release shows itself and its certificate", {
  expect_output(print(release), "Release|epsilon")
  paid <- summary(release)
  expect_equal(paid$relation, "add-remove")
  expect_output(print(paid), "Cost: epsilon 10")
})

test_that("a release is read again, with the classes of a frame", {
  path <- tempfile(fileext = ".lapwing")
  save_release(release, path)

  expect_identical(sample_rows(load_release(path, like = df), 9, seed = 2), sample_rows(release, 9, seed = 2))
  expect_s3_class(sample_rows(load_release(path), 9)$sex, "factor")
})

test_that("a release of an earlier session says how to keep one", {
  path <- tempfile(fileext = ".rds")
  saveRDS(release, path)
  error <- expect_error(sample_rows(readRDS(path), 1), class = "lapwing_error")
  expect_match(conditionMessage(error), "save_release\\(\\) and load_release\\(\\)")
})

test_that("errors are one sentence with a code, and warnings are warnings", {
  error <- expect_error(synthesize(df, schema, epsilon = -1), class = "lapwing_error")
  expect_equal(error$code, "LW301")
  expect_identical(conditionMessage(error), "epsilon must be above 0, got -1; give a positive number such as 0.5")
  expect_s3_class(error, "ParameterError")

  codes <- function(code) tryCatch({code; "none"}, lapwing_error = function(error) error$code)
  expect_equal(codes(synthesize(df, schema, epsilon = 1, nonsense = 2)), "LW308")
  expect_equal(codes(synthesize(df, schema, 1, NULL, 2)), "LW308")
  expect_equal(codes(synthesize(df[1:2], schema, epsilon = 1)), "LW104")
  expect_equal(codes(synthesize(1:3, schema, epsilon = 1)), "LW108")
  expect_equal(codes(synthesize(df, "{", epsilon = 1)), "LW206")
  expect_equal(codes(synthesize(df, 3, epsilon = 1)), "LW206")
  expect_equal(codes(synthesize(df, "none.json", epsilon = 1)), "LW201")
  expect_equal(codes(synthesize(df, schema, epsilon = 1, mechanism = list(name = "Independent", nonsense = 1))), "LW306")
  expect_equal(codes(synthesize(df, schema, epsilon = 1, mechanism = list(name = "synthesize"))), "LW305")
  expect_equal(codes(sample_rows(release, 1, where = list(nonsense = 1))), "LW330")
  expect_equal(codes(sample_rows(release, 1, where = list(sex = "x"))), "LW323")

  warning <- suppressWarnings(
    expect_warning(synthesize(df, schema, epsilon = 1000, mechanism = "Independent"), "next to no promise")
  )
  expect_s3_class(warning, "lapwing_warning")
  expect_match(warning$code, "^LW[0-9]{3}$")
})

test_that("settings reach Python as they are written", {
  ledger <- tempfile(fileext = ".ledger")
  paid <- function(...) summary(quiet(synthesize(df, schema, ...)))
  expect_equal(paid(epsilon = "1/3")$requested$epsilon$exact, "1/3")
  expect_equal(paid(epsilon = 0.1, delta = 1e-9)$requested$delta$exact, "1/1000000000")
  expect_equal(paid(epsilon = 1, mechanism = list(name = "independent", groups = 16))$settings$groups, 16)
  error <- expect_error(synthesize(df, schema, epsilon = 1, ledger = ledger, dataset = "x"), class = "lapwing_error")
  expect_match(error$code, "^LW[0-9]{3}$")
})

test_that("an evaluation is internal", {
  found <- evaluate(df, sample_rows(release, 500, seed = 1), schema)
  expect_output(print(found), "internal - do not publish", fixed = TRUE)
})

test_that("no file is written", {
  before <- list.files(tempdir(), recursive = TRUE, all.files = TRUE)
  sample_rows(quiet(synthesize(df, schema, epsilon = 1, mechanism = "Independent")), 10)
  expect_identical(list.files(tempdir(), recursive = TRUE, all.files = TRUE), before)
})

test_that("warnings that a session makes errors of lose no release", {
  before <- options(warn = 2)
  on.exit(options(before))
  df <- data.frame(x = rep(c(TRUE, FALSE), 20))
  assumed <- field_schema(name = "x", type = "boolean", provenance = "assumed")
  expect_s3_class(suppressWarnings(synthesize(df, assumed, epsilon = 0.01, mechanism = "Independent")), "lapwing_release")
  expect_equal(getOption("warn"), 2)
})
