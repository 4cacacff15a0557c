"""Linked tables: persons and their rows in order, households and persons, or a database of several tables."""

from lapwing.schema.linked.database import LinkedSchema as LinkedSchema
from lapwing.schema.linked.database import is_linked as is_linked
