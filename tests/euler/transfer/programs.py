"""Programs that solve the tasks as an agent would, in each language, by the number of the task."""

from posttrain.euler.languages import language

_LOGS = {
    "python": r"""
import re
total = 0
for line in open("service.log"):
    found = re.fullmatch(r"\S+ level=ERROR service=checkout ms=(\d+) bytes=(\d+)", line.rstrip())
    if found and int(found[1]) >= 400:
        total += int(found[2])
print(total)
""",
    "javascript": r"""
const lines = require("fs").readFileSync("service.log", "utf8").split("\n");
let total = 0;
for (const line of lines.filter((each) => each && !each.startsWith("---"))) {
  const entry = Object.fromEntries(line.split(" ").slice(1).map((pair) => pair.split("=")));
  if (entry.level === "ERROR" && entry.service === "checkout" && Number(entry.ms) >= 400) total += Number(entry.bytes);
}
console.log(total);
""",
    "julia": r"""
function total()
    sum = 0
    for line in eachline("service.log")
        startswith(line, "---") && continue
        entry = Dict(Pair(split(word, "=")...) for word in split(line)[2:end])
        if entry["level"] == "ERROR" && entry["service"] == "checkout" && parse(Int, entry["ms"]) >= 400
            sum += parse(Int, entry["bytes"])
        end
    end
    return sum
end
println(total())
""",
}
_INVENTORY = {
    "python": r"""
import csv
from decimal import Decimal
with open("inventory.csv", newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["status"] == "active" and int(row["quantity"]) > 0]
print(int(100 * sum(int(row["quantity"]) * Decimal(row["unit_cost"]) for row in rows)))
""",
    "javascript": r"""
const [, ...lines] = require("fs").readFileSync("inventory.csv", "utf8").trim().split("\n");
let cents = 0;
for (const [, , status, quantity, cost] of lines.map((line) => line.split(","))) {
  if (status === "active" && Number(quantity) > 0) cents += Number(quantity) * Number(cost.replace(".", ""));
}
console.log(cents);
""",
    "julia": r"""
function worth()
    cents = 0
    for line in Iterators.drop(eachline("inventory.csv"), 1)
        _, _, status, quantity, cost = split(line, ",")
        if status == "active" && parse(Int, quantity) > 0
            cents += parse(Int, quantity) * parse(Int, replace(cost, "." => ""))
        end
    end
    return cents
end
println(worth())
""",
}
_SHARDS = {
    "python": r"""
from collections import Counter
totals = Counter()
for number in range(1, 7):
    for line in open(f"shard-{number}.csv"):
        account, amount = line.split(",")
        totals[account] += int(amount)
print(sum(total for total in totals.values() if total >= 2500))
""",
    "javascript": r"""
const fs = require("fs");
const totals = new Map();
for (let number = 1; number <= 6; number++) {
  for (const line of fs.readFileSync(`shard-${number}.csv`, "utf8").trim().split("\n")) {
    const [account, amount] = line.split(",");
    totals.set(account, (totals.get(account) ?? 0) + Number(amount));
  }
}
console.log([...totals.values()].filter((total) => total >= 2500).reduce((one, other) => one + other, 0));
""",
    "julia": r"""
totals = Dict{String,Int}()
for number in 1:6, line in eachline("shard-$number.csv")
    account, amount = split(line, ",")
    totals[account] = get(totals, account, 0) + parse(Int, amount)
end
println(sum(total for total in values(totals) if total >= 2500))
""",
}
_WRITTEN = {1: _LOGS, 2: _INVENTORY, 4: _SHARDS}


def solution(number: int, name: str, files: dict[str, bytes]) -> tuple[str, str]:
    """The name of a program file and its text; of task 3, the given one after its repair by one character."""
    suffix = language(name).suffixes[0]
    if number == 3:
        return f"checksum{suffix}", files[f"checksum{suffix}"].decode().replace("place < n", "place <= n")
    return f"solution{suffix}", _WRITTEN[number][name]
