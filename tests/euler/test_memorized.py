"""What is warned of, and above all what is not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.euler.memorized import ANSWER_IN_SOURCE, CONSTANT_PRINT, program_warnings
from posttrain.euler.tokens import tokens

ANSWER = "233168"

CONSTANT = [
    ("python", "print(233168)"),
    ("python", "print('233168')"),
    ("python", "print(233_168)"),
    ("python", "x = 233168\nprint(x)\n"),
    ("python", "x = 233168  # by thought\n\nprint(f'{x}')\n"),
    ("python", "print(f'{233168}')"),
    ("python", "print(str(int('233168')))"),
    ("python", "total = 0\nfor k in range(10):\n    total += k\nprint(total)\nprint(233168)\n"),
    ("python", "import sys\nsys.stdout.write('233168\\n')\n"),
    ("python", "def f():\n    answer = 233168\n    print(answer)\nf()\n"),
    ("python", "print('ok', end='\\n')\nprint(233168, end='')\n"),
    ("javascript", "console.log(233168);"),
    ("javascript", "const x = 233168n;\nconsole.log(x.toString());"),
    ("javascript", "const s = `x`;\nconsole.log(`${233168}`)"),
    ("javascript", "process.stdout.write('233168\\n')"),
    ("julia", "println(233168)"),
    ("julia", 'x = 233168\nprintln("$x")'),
    ("julia", 'println("$(233168)")'),
]
COMPUTED = [
    ("python", "print(sum(k for k in range(1000) if k % 3 == 0 or k % 5 == 0))"),
    ("python", "n = 999\nprint(3 * (n // 3) * (n // 3 + 1) // 2)"),
    ("python", "total = 0\nfor k in range(10):\n    total += k\nprint(total)"),
    ("python", "print(233168 - 0)"),
    ("python", "print(f'{total}')"),
    ("python", "# the answer is 233168\nprint(sum(range(10)))"),
    ("python", '"""233168"""\nprint(total)'),
    ("python", "print(1233168)"),
    ("python", "print(x, 5)"),
    ("javascript", "let total = 0;\nfor (let i = 0; i < 10; i++) total += i;\nconsole.log(total);"),
    ("javascript", "// 233168\n/* 233168 */\nconsole.log(f(10));"),
    ("julia", "#= 233168 =#\nprintln(sum(1:10)) # 233168"),
    ("julia", 'println("$(f(10))")'),
]
HELD = [
    ("python", "result = f()\nassert result == 233168\nprint(result)"),
    ("python", "x: int = 233168\nprint(x)"),
    ("python", "print('%d' % 233168)"),
    ("javascript", "if (f() !== 233168) throw 1;\nconsole.log(f());"),
]


@pytest.mark.parametrize(("language", "source"), CONSTANT)
def test_constant_prints(language: str, source: str) -> None:
    assert program_warnings(source, language, ANSWER, "How many?") == [CONSTANT_PRINT]


@pytest.mark.parametrize(("language", "source"), COMPUTED)
def test_programs_that_compute(language: str, source: str) -> None:
    found = program_warnings(source, language, ANSWER, "How many?")
    assert CONSTANT_PRINT not in found
    assert found == [] or "233168 - 0" in source or source.startswith('"""')


@pytest.mark.parametrize(("language", "source"), HELD)
def test_an_answer_that_is_only_held_is_a_weaker_sign(language: str, source: str) -> None:
    assert program_warnings(source, language, ANSWER, "How many?") == [ANSWER_IN_SOURCE]


@pytest.mark.parametrize(
    "source",
    [
        "best = 0\nfor k in range(10):\n    best = max(best, k)\nprint(best)",
        "n = 0\nwhile f(n):\n    n += 1\nprint(n)",
        "def f(n):\n    print(n)\nn = 0\nf(5)",
        "for n in (0, 1):\n    print(n)",
        "a, n = 1, 0\nprint(n)",
        "n = 0\nn = g()\nprint(n)",
        "n = 0 if f() else 1\nprint(n)",
        "print(0 + f())",
        "print(f(0))",
        "print(values[0])",
        "print(max(0, x))",
    ],
)
def test_a_start_value_that_equals_the_answer_is_no_constant_print(source: str) -> None:
    assert program_warnings(source, "python", "0", "How many?") == []


def test_a_number_of_the_problem_is_no_sign() -> None:
    source = "limit = 5040\nprint(max(range(limit), key=f))"
    assert program_warnings(source, "python", "5040", "Which number up to 5,040?") == []
    assert program_warnings(source, "python", "5040", "Which number up to 50400?") == [ANSWER_IN_SOURCE]


def test_short_answers_are_no_sign_by_themselves() -> None:
    assert program_warnings("print(f(153))", "python", "153", "How many?") == []


def test_negative_and_decimal_answers() -> None:
    assert program_warnings("print(-59231)", "python", "-59231", "?") == [CONSTANT_PRINT]
    assert program_warnings("print(0.464399)", "python", "0.464399", "?") == [CONSTANT_PRINT]
    assert program_warnings("print(464399)", "python", "0.464399", "?") == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120), st.sampled_from(["python", "javascript", "julia"]))
def test_any_source_can_be_read(source: str, language: str) -> None:
    program_warnings(source, language, "5", "?")
    list(tokens(source, language))


@settings(max_examples=60, deadline=None)
@given(st.text("ab1 ='\"#/*`${}()\\\n", max_size=60), st.sampled_from(["python", "javascript", "julia"]))
def test_any_muddle_can_be_read(source: str, language: str) -> None:
    program_warnings(source, language, "1", "?")
