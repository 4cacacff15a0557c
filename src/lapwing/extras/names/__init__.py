"""Made-up names, addresses and numbers in identifiers of synthetic rows, by Faker.

In: what to make up, numbers of rows and a seed. Out: a value for each number. Reads no row.
"""
