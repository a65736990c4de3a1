"""The project index as a kind of database."""

from workbench.storage.connection import Schema

INDEX_SCHEMA = Schema(name="The project index", application_id=0x4D57_4958, version=7, folder="index")
