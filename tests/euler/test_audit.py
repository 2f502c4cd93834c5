import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posttrain.euler.audit import command_escapes, path_escape
from posttrain.euler.paths import program_file, relative_file
from posttrain.euler.shell import plain_words

HARMLESS = [
    "python3 solution.py",
    "ls -la && cat solution.py | head -5",
    "cd src && ls",
    "python3 solution.py 2>/dev/null",
    "python3 solution.py > out.txt 2>&1",
    'python3 -c "print(10 / 2, 7//2, 6 /2)"',
    "node -e 'const a = [...b]; console.log(1/2)'",
    "cat > a.py <<'EOF'\nx = a /b\ny = 6 //2\nEOF\npython3 a.py",
    "sed '/x/d' a.py",
    "awk '/foo/ {print $1 / $2}' a.txt",
    "grep -n '/' a.py",
    "expr 6 / 2",
    "echo $((10 / 3))",
    "curl https://example.org/a",
    "echo 'wait .. done'",
    "python3 solution.py # takes 3/4 of a second",
    "ls .../x ..x x..",
    "julia -e 'println(sum(1:10))'",
    "",
]
ESCAPES = [
    ("cat /etc/passwd", "absolute"),
    ("cat '/etc/passwd'", "absolute"),
    ("ls /", "absolute"),
    ("cd /workspace && python3 x.py", "absolute"),
    ("/usr/bin/python3 x.py", "absolute"),
    ("python3 x.py>/tmp/out", "absolute"),
    ("python3 x.py </tmp/in", "absolute"),
    ("PATH=/opt:$PATH ls", "absolute"),
    ("ls --dir=/etc", "absolute"),
    ("sed -n 1p /etc/passwd", "absolute"),
    ("sed -f /etc/passwd x", "absolute"),
    ("python3 -c \"print(open('/etc/passwd').read())\"", "absolute"),
    ("python3 - <<'EOF'\nopen('/etc/passwd')\nEOF", "absolute"),
    ("bash <<X\ncat /etc/passwd\nX", "absolute"),
    ("cat <<EOF > /tmp/a\nhi\nEOF", "absolute"),
    ("echo it's /etc/passwd", "absolute"),
    ("ls ..", "parent"),
    ("cat a/../../b", "parent"),
    ("cat<../x", "parent"),
    ("node -e \"require('../x')\"", "parent"),
    ("ls ~", "home"),
    ("ls ~/x", "home"),
    ("ls ~root/x", "home"),
    ("cd", "home"),
    ("(cd; ls)", "home"),
    ("ls && cd\nls", "home"),
    ("echo ${HOME}/x", "home"),
    ("python3 -c 'import os; print(os.path.expanduser(\"~/x\"))'", "home"),
]


@pytest.mark.parametrize("command", HARMLESS)
def test_harmless_commands(command: str) -> None:
    assert command_escapes(command) == []


@pytest.mark.parametrize(("command", "rule"), ESCAPES)
def test_attempts(command: str, rule: str) -> None:
    assert rule in {escape.rule for escape in command_escapes(command)}


@settings(max_examples=60, deadline=None)
@given(st.text("ab ./~'\"$;&|<>()\n-=cdEOF", max_size=60))
def test_any_command_can_be_audited(command: str) -> None:
    found = command_escapes(command)
    assert len(set(found)) == len(found)


@settings(max_examples=60, deadline=None)
@given(st.text("ab/.~@\n\\ ", max_size=12))
def test_a_path_is_inside_or_refused(path: str) -> None:
    relative = relative_file(path)
    if relative is None:
        return
    assert path_escape(path) is None
    assert not relative.startswith("/")
    parts = relative.split("/")
    assert all(part not in ("", ".", "..") for part in parts)
    assert relative_file(relative) == relative


@pytest.mark.parametrize("path", ["", ".", "./", "/", "/a", "..", "../a", "a/..", "a/../b", "a/", "a/.", "~", "a\0b"])
def test_refused_paths(path: str) -> None:
    assert relative_file(path) is None


@pytest.mark.parametrize(("path", "wanted"), [("a.py", "a.py"), ("./a//b.py", "a/b.py"), ("a/./..b.py", "a/..b.py")])
def test_allowed_paths_have_one_form(path: str, wanted: str) -> None:
    assert relative_file(path) == wanted
    assert program_file(path, (".py",)) == wanted
    assert program_file(path, (".jl",)) is None


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python3 a.py", ("python3", "a.py")),
        ("  python3\t'a b'.py \n", ("python3", "a b.py")),
        ('node "a.js"', ("node", "a.js")),
        ("""x "'a'" '"b"'""", ("x", "'a'", '"b"')),
        ("x ''", ("x", "")),
        ("", None),
        ("a; b", None),
        ("a\nb", None),
        ("a > b", None),
        ("a $b", None),
        ('a "$b"', None),
        ("a `b`", None),
        ("a *.py", None),
        ("a ~", None),
        ("a \\b", None),
        ("a # b", None),
        ("A=b c", None),
        ("a 'b", None),
        ("a !b", None),
        ("{ a; }", None),
        ("a &", None),
    ],
)
def test_plain_words(command: str, words: tuple[str, ...] | None) -> None:
    assert plain_words(command) == words


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab ./'\"-", min_size=1), min_size=1, max_size=4))
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = " ".join(f'"{word}"' if '"' not in word else "'" + word.replace("'", "") + "'" for word in words)
    assert plain_words(quoted) == tuple(word if '"' not in word else word.replace("'", "") for word in words)
