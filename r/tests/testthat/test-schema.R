df <- data.frame(
  n = 1L, x = 1.5, yes = TRUE, day = as.Date("2020-01-01"), at = as.POSIXct("2020-01-01"), name = "a",
  size = factor("S", c("S", "L"), ordered = TRUE)
)

test_that("a draft has the types of classes, and no value", {
  found <- schema_from_types(df)

  types <- vapply(found$fields, function(field) field$type, "")
  expect_equal(types, c("integer", "number", "boolean", "date", "datetime", "string", "string"))
  expect_true(found$draft)
  expect_true(all(vapply(found$fields, function(field) field$provenance, "") == "drafted"))
  text <- paste(readLines(write_schema(found, tempfile())), collapse = " ")
  expect_match(text, "\"categories\": null", fixed = TRUE)
  expect_match(text, "\"minimum\": null", fixed = TRUE)
  expect_false(grepl("\"S\"|2020|1\\.5", text))
})

test_that("levels are taken where they are said to be public, with a sentence", {
  expect_message(found <- schema_from_types(df, public_levels = "size"), "Taken as public, because you say")
  field <- found$fields[[7]]
  expect_equal(unlist(field$categories), c("S", "L"))
  expect_true(field$categoriesOrdered)
  expect_equal(field$provenance, "public")

  expect_equal(tryCatch(schema_from_types(df, "nix"), lapwing_error = function(e) e$code), "LW104")
  expect_equal(tryCatch(schema_from_types(df, "n"), lapwing_error = function(e) e$code), "LW304")
  df$list <- list(1)
  expect_equal(tryCatch(schema_from_types(df), lapwing_error = function(e) e$code), "LW107")
})

test_that("a list of one value stays a list, and large numbers stay whole", {
  schema <- field_schema(name = "x", type = "integer", special = 7, constraints = list(minimum = 0, maximum = 1e5))
  text <- paste(readLines(write_schema(schema, tempfile())), collapse = "")
  expect_match(text, "\"special\": \\[\\s*7\\s*\\]")
  skip_without_python()
  expect_equal(plan(schema, 100, epsilon = 1)$expected_rows, 100)
  expect_equal(tryCatch(synthesize(df, schema_from_types(df), 1), lapwing_error = function(e) e$code), "LW203")
})
