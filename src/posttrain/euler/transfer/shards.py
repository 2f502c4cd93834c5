"""Task 4: totals over accounts whose entries are spread over several files."""

from posttrain.euler.transfer.template import Template, between, draws, text_file

_SHARDS, _ROWS, _ACCOUNTS = 6, 50, 40


def _files(_language: str) -> dict[str, bytes]:
    source = draws(44)
    files = {}
    for shard in range(1, _SHARDS + 1):
        rows = [(between(source, 1, _ACCOUNTS), between(source, -700, 1300)) for _ in range(_ROWS)]
        files[f"shard-{shard}.csv"] = text_file([f"A{account:02d},{amount}" for account, amount in rows])
    return files


SHARDS = Template(
    "aggregation across file shards",
    "The files shard-1.csv to shard-6.csv hold bookings, one a line: account,amount. There is no header, amounts are "
    "whole numbers, and an account may come several times and in several files. Add up each account's amounts over "
    "all files. What is the sum of the totals of those accounts whose total is 2500 or more?",
    _files,
    "64409",
)
