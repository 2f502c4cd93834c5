"""Task 3: a program of the assigned language that leaves out the last reading, to be repaired by one character."""

from posttrain.euler.languages import language
from posttrain.euler.transfer.template import Template, between, draws, text_file

_READINGS = 240
_PROGRAMS = {
    "python": """\
def checksum(readings):
    total = 7
    place = 1
    n = len(readings)
    while place < n:
        total = (total * 31 + place * readings[place - 1]) % 1000003
        place += 1
    return total


with open("readings.txt") as lines:
    readings = [int(line) for line in lines]
print(checksum(readings))
""",
    "javascript": """\
const fs = require("fs");

function checksum(readings) {
  let total = 7;
  let place = 1;
  const n = readings.length;
  while (place < n) {
    total = (total * 31 + place * readings[place - 1]) % 1000003;
    place += 1;
  }
  return total;
}

const readings = fs.readFileSync("readings.txt", "utf8").trim().split("\\n").map(Number);
console.log(checksum(readings));
""",
    "julia": """\
function checksum(readings)
    total = 7
    place = 1
    n = length(readings)
    while place < n
        total = (total * 31 + place * readings[place]) % 1000003
        place += 1
    end
    return total
end

readings = [parse(Int, line) for line in eachline("readings.txt")]
println(checksum(readings))
""",
}


def _files(name: str) -> dict[str, bytes]:
    source = draws(33)
    readings = [str(between(source, 100, 9999)) for _ in range(_READINGS)]
    program = f"checksum{language(name).suffixes[0]}"
    return {program: _PROGRAMS[name].encode(), "readings.txt": text_file(readings)}


CHECKSUM = Template(
    "repair of a checksum program",
    "The program checksum{suffix} reads readings.txt, which has one whole number a line, and should print a checksum "
    "over all of them: it starts at 7, and for each reading, from the first to the last, "
    "checksum = (checksum * 31 + place * reading) modulo 1000003, where place counts the readings from 1. "
    "Its loop is wrong by one. Repair checksum{suffix} in place, by editing it, and run it. What does it print then?",
    _files,
    "670575",
)
