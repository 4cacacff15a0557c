skip_without_python()

test_that("a missing text and the text NA are two things", {
  df <- data.frame(x = rep(c("NA", NA, "b"), c(20, 30, 50)))
  release <- released(df, name = "x", type = "string", categories = c("b", "NA"))

  expect_equal(counts(release, "x"), c(b = 50, "NA" = 20, missing = 30))
  rows <- sample_rows(release, 100, seed = 1)
  expect_type(rows$x, "character")
  expect_equal(sum(is.na(rows$x)), 30)
  expect_equal(sum(rows$x == "NA", na.rm = TRUE), 20)
})

test_that("quotes, line ends and letters of any script survive, from any encoding", {
  texts <- c("a\nb", "say \"x\"", "Gr\u00f6\u00dfe", "\u6f22\u5b57", "a,b\t")
  release <- released(data.frame(x = rep(texts, 20)), name = "x", type = "string", categories = texts)
  expect_equal(counts(release, "x")[texts], stats::setNames(rep(20, 5), texts))
  expect_setequal(sample_rows(release, 100, seed = 1)$x, texts)

  latin <- iconv("Gr\u00f6\u00dfe", "UTF-8", "latin1")
  release <- released(data.frame(x = rep(latin, 9)), name = "x", type = "string", categories = c("Gr\u00f6\u00dfe", "b"))
  expect_equal(counts(release, "x")[[1]], 9)
})

test_that("bytes that are no text fit nothing, and raise nothing", {
  df <- data.frame(x = rep(c("a", "\xff\xfe"), c(60, 40)))
  release <- released(df, name = "x", type = "string", categories = c("a", "b"))
  expect_equal(counts(release, "x"), c(a = 60, b = 0, missing = 40))
})

test_that("factors come back with the schema's levels in its order, whatever theirs were", {
  x <- factor(rep(c("lo", "hi", "gone"), c(50, 30, 20)), levels = c("never", "hi", "gone", "lo"))
  release <- released(data.frame(x = x), name = "x", type = "string", categories = c("lo", "hi", "new"))

  expect_equal(counts(release, "x"), c(lo = 50, hi = 30, new = 0, missing = 20))
  rows <- sample_rows(release, 100, seed = 1)
  expect_s3_class(rows$x, "factor")
  expect_equal(levels(rows$x), c("lo", "hi", "new"))
  expect_equal(sum(is.na(rows$x)), 20)

  x <- addNA(factor(c("S", "L", NA), levels = c("L", "S"), ordered = TRUE))
  release <- released(
    data.frame(x = rep(x, 10)),
    name = "x", type = "string", categories = c("S", "M", "L"), categoriesOrdered = TRUE
  )
  expect_equal(counts(release, "x"), c(S = 10, M = 0, L = 10, missing = 10))
  expect_equal(levels(sample_rows(release, 5)$x), c("S", "M", "L"))
  expect_true(is.ordered(sample_rows(release, 5)$x))
})

test_that("factors of numbers go by their levels, and not by their codes", {
  release <- released(data.frame(x = factor(rep(c(10, 5), c(60, 40)))), name = "x", type = "integer", categories = c(10, 5))
  expect_equal(counts(release, "x")[1:2], c("10" = 60, "5" = 40))
  expect_equal(levels(sample_rows(release, 5)$x), c("10", "5"))
})

test_that("whole numbers are integer where the schema's bounds are, however they came, and NA is missing", {
  limits <- list(minimum = 1, maximum = 3)
  for (make in list(as.integer, as.double, bit64::as.integer64)) {
    x <- make(rep(c(NA, 1, 2, 3), c(10, 20, 30, 40)))
    release <- released(data.frame(x = x), name = "x", type = "integer", constraints = limits)
    expect_equal(unname(counts(release, "x")), c(20, 30, 40, 10))
    rows <- sample_rows(release, 100, seed = 1)
    expect_type(rows$x, "integer")
    expect_equal(as.vector(table(rows$x, useNA = "always")), c(20, 30, 40, 10))
  }
})

test_that("numbers of 64 bits are read to the last digit", {
  skip_if_not_installed("bit64")
  x <- bit64::as.integer64(c("9007199254740993", "9007199254740992", NA, "-3"))
  categories <- c("9007199254740993", "9007199254740992", "-3")
  release <- released(data.frame(x = rep(x, 10)), name = "x", type = "string", categories = categories)
  expect_equal(unname(counts(release, "x")), rep(10, 4))

  limits <- list(minimum = 1e16, maximum = 1e16 + 8)
  release <- released(data.frame(x = rep(c(1e16 + 2, NA), 10)), name = "x", type = "integer", constraints = limits)
  rows <- sample_rows(release, 20, seed = 1)
  expect_s3_class(rows$x, "integer64")
  expect_equal(sum(is.na(rows$x)), 10)
})

test_that("one cell that makes another class of a column of texts changes no class of rows", {
  field <- list(name = "x", type = "string", categories = c("1", "2"))
  for (x in list(c(1L, 2L), c(1, 2.5), c("1", "x"), c(TRUE, NA))) {
    release <- do.call(released, c(list(data.frame(x = rep(x, 50))), field))
    expect_type(sample_rows(release, 5)$x, "character")
  }
})

test_that("logical columns have three values", {
  release <- released(data.frame(x = rep(c(TRUE, FALSE, NA), c(50, 30, 20))), name = "x", type = "boolean")
  rows <- sample_rows(release, 100, seed = 1)
  expect_equal(as.vector(table(rows$x, useNA = "always")), c(30, 50, 20))
})

test_that("dates before 1970, between days and at no time at all", {
  days <- as.Date(c("1890-03-01", "1969-12-31", "2000-02-29"))
  x <- c(days, structure(-0.5, class = "Date"), as.Date(NA), as.Date(Inf))
  release <- released(data.frame(x = rep(x, 10)), name = "x", type = "date", categories = format(days))
  rows <- sample_rows(release, 60, seed = 1)

  expect_s3_class(rows$x, "Date")
  # Half a day before 1970 is in its last day before.
  expect_equal(sort(unique(rows$x)), days)
  expect_equal(as.vector(table(rows$x)), c(10, 20, 10))
  expect_equal(sum(is.na(rows$x)), 20)

  far <- structure(c(-1e300, 1e300, 1e9), class = "Date")
  limits <- list(minimum = "1890-03-01", maximum = "2000-12-31")
  release <- released(data.frame(x = rep(far, 10)), name = "x", type = "date", constraints = limits, resolution = "year")
  found <- table(sample_rows(release, 30, seed = 1)$x)
  expect_equal(found, c("1890-03-01" = 10, "2000-01-01" = 20), ignore_attr = TRUE)
})

test_that("moments are in UTC, and shown in the time zone that they came in", {
  x <- as.POSIXct("1969-07-21 02:56:20", tz = "Europe/Paris") + c(0, 3600, NA)
  limits <- list(minimum = "1969-07-01", maximum = "1969-07-31")
  df <- data.frame(x = rep(x, 10))
  df$y <- as.POSIXlt(df$x)
  field <- function(name) list(name = name, type = "datetime", constraints = limits)
  schema <- list(fields = list(field("x"), field("y")))
  fine <- list(name = "Independent", groups = 65536)
  release <- quiet(synthesize(df, schema, epsilon = 1e5, mechanism = fine, misfits = 1))
  rows <- sample_rows(release, 30, seed = 1)

  expect_equal(attr(rows$x, "tzone"), "Europe/Paris")
  expect_equal(sum(is.na(rows$x)), 10)
  # Groups of half a minute.
  expect_true(all(abs(as.double(sort(rows$x)) - rep(as.double(x[1:2]), each = 10)) < 60))
  expect_s3_class(rows$y, "POSIXct")
})

test_that("columns of several values per cell are refused, if the schema needs them", {
  df <- data.frame(x = 1:3)
  df$y <- list(1, 2:3, "a")
  df$z <- matrix(1:6, 3)
  limits <- list(minimum = 0, maximum = 9)

  expect_s3_class(released(df, name = "x", type = "integer", constraints = limits), "lapwing_release")
  for (name in c("y", "z")) {
    error <- expect_error(released(df, name = name, type = "integer", constraints = limits), class = "lapwing_error")
    expect_equal(error$code, "LW107")
    expect_match(conditionMessage(error), "holds several values per cell; unnest it into plain columns")
  }
})

test_that("columns of a class that no field can hold are refused before anything is spent", {
  df <- data.frame(x = as.difftime(c(1, 2, NA, 3), units = "mins"))
  error <- expect_error(
    released(df, name = "x", type = "integer", constraints = list(minimum = 0, maximum = 9)),
    class = "lapwing_error"
  )
  expect_equal(error$code, "LW107")
})

test_that("two columns of one name are refused", {
  df <- data.frame(x = 1:3, x = 4:6, check.names = FALSE)
  error <- expect_error(
    released(df, name = "x", type = "integer", constraints = list(minimum = 0, maximum = 9)),
    class = "lapwing_error"
  )
  expect_equal(error$code, "LW105")
})

test_that("a table without rows is a table", {
  schema <- list(fields = list(
    list(name = "x", type = "string", categories = c("a", "b")),
    list(name = "y", type = "date", constraints = list(minimum = "2000-01-01", maximum = "2000-12-31"))
  ))
  df <- data.frame(x = factor(character()), y = as.Date(character()))
  release <- quiet(synthesize(df, schema, epsilon = 1, mechanism = "Independent"))
  rows <- sample_rows(release, 0)
  expect_equal(dim(rows), c(0, 2))
  expect_equal(levels(rows$x), c("a", "b"))
  expect_s3_class(rows$y, "Date")
})

test_that("columns of haven are read as codes or as labels, as the schema has them, and are labelled again", {
  skip_if_not_installed("haven")
  x <- rep(c(1, 2, NA), c(50, 30, 20))
  labels <- c(Male = 1, Female = 2, Refused = 9)
  df <- data.frame(id = seq_along(x))
  df$x <- haven::labelled(x, labels, "Sex")

  for (field in list(
    list(name = "x", type = "integer", categories = c(1, 2)),
    list(name = "x", type = "string", categories = c("Female", "Male")),
    list(name = "x", type = "string", categories = c("2", "1")),
    list(name = "x", type = "number", constraints = list(minimum = 1, maximum = 2), resolution = 1)
  )) {
    rows <- sample_rows(do.call(released, c(list(df), field)), 100, seed = 1)
    expect_s3_class(rows$x, "haven_labelled")
    expect_equal(attr(rows$x, "labels"), c(Male = 1, Female = 2))
    expect_equal(attr(rows$x, "label"), "Sex")
    expect_equal(as.vector(table(as.double(rows$x), useNA = "always")), c(50, 30, 20))
  }

  # A category without a label has no code to go back to.
  rows <- sample_rows(released(df, name = "x", type = "string", categories = c("Female", "Male", "other")), 5)
  expect_equal(levels(rows$x), c("Female", "Male", "other"))
})

test_that("what haven has declared missing is missing", {
  skip_if_not_installed("haven")
  df <- data.frame(id = 1:100)
  df$x <- haven::labelled_spss(rep(c(1, 2, 8, 97), 25), c(Yes = 1, No = 2), na_values = 8, na_range = c(90, 99))
  df$y <- haven::labelled(rep(c(1, 2, haven::tagged_na("a"), NA), 25), c(Yes = 1, No = 2))
  for (name in c("x", "y")) {
    release <- released(df, name = name, type = "integer", categories = c(1, 2))
    expect_equal(unname(counts(release, name)), c(25, 25, 50))
  }
})

test_that("a tibble comes back as a tibble, and an Arrow table as one", {
  schema <- field_schema(name = "x", type = "integer", constraints = list(minimum = 0, maximum = 9))
  if (requireNamespace("tibble", quietly = TRUE)) {
    rows <- sample_rows(quiet(synthesize(tibble::tibble(x = 1:5), schema, 1)), 3)
    expect_s3_class(rows, "tbl_df")
  }
  expect_identical(class(sample_rows(quiet(synthesize(data.frame(x = 1:5), schema, 1)), 3)), "data.frame")
  skip_if_not_installed("arrow")
  expect_s3_class(sample_rows(quiet(synthesize(arrow::arrow_table(x = 1:5), schema, 1)), 3), "Table")
})

test_that("fresh identifiers have the type that they had", {
  fields <- list(
    list(name = "id", type = "integer", role = "identifier"),
    list(name = "key", type = "string", role = "identifier"),
    list(name = "x", type = "boolean")
  )
  schema <- list(fields = fields, privacyUnit = list(field = "key", maxRows = 2))
  df <- data.frame(id = 101:106, key = c("a", "a", "a", "b", "c", "d"), x = TRUE)
  release <- quiet(synthesize(df, schema, epsilon = 1e5, mechanism = "Independent"))
  rows <- sample_rows(release, 3)
  expect_equal(rows$id, 1:3)
  expect_equal(rows$key, c("1", "2", "3"))
  # Of the unit a two rows are used.
  expect_equal(sum(query(release, "x")$count), 5, tolerance = 0.01)
})
