import asyncio
import os
import random
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posttrain.errors import StoreError
from posttrain.ledger.store import Sample, SampleKey, SampleStore

KEY = SampleKey(policy="p", prompt=(1, 2), params='{"temperature": 1.0}', seed=0, index=0)
SAMPLE = Sample(tokens=[5, 6], logprobs=[-0.1, -2.0], stop_reason="stop", cached_tokens=3)


def key(seed: int, policy: str = "p", index: int = 0) -> SampleKey:
    return replace(KEY, seed=seed, policy=policy, index=index)


def rows(path: Path, what: str = "SELECT count(*) FROM samples") -> list[tuple]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(what).fetchall()
    finally:
        connection.close()


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    program = textwrap.dedent(code)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_get_returns_what_was_put_in_the_order_asked(tmp_path: Path) -> None:
    with SampleStore(tmp_path / "new" / "s.sqlite") as store:
        other = replace(SAMPLE, stop_reason="length", cached_tokens=0)
        store.put(key(1), SAMPLE)
        store.put(key(2), other)
        assert store.get([key(2), key(3), key(1), key(2)]) == [other, None, SAMPLE, other]
        assert store.get([]) == []
    with SampleStore(tmp_path / "new" / "s.sqlite") as store:
        assert store.get([key(1), key(2)]) == [SAMPLE, other]


def test_more_keys_than_one_query_holds(tmp_path: Path) -> None:
    async def fill(store: SampleStore) -> None:
        for seed in range(1203):
            store.put(key(seed), replace(SAMPLE, cached_tokens=seed))

    with SampleStore(tmp_path / "s.sqlite") as store:
        asyncio.run(fill(store))
        got = store.get([key(seed) for seed in range(1204)])
    assert [sample and sample.cached_tokens for sample in got] == [*range(1203), None]


def test_the_first_sample_of_a_key_stays(tmp_path: Path) -> None:
    later = replace(SAMPLE, tokens=[9, 9])

    async def twice(store: SampleStore) -> None:
        store.put(key(2), SAMPLE)
        store.put(key(2), later)

    with SampleStore(tmp_path / "s.sqlite") as store:
        store.put(KEY, SAMPLE)
        store.put(KEY, later)
        asyncio.run(twice(store))
        assert store.get([KEY, key(2)]) == [SAMPLE, SAMPLE]


def test_logprobs_are_float32_from_the_start(tmp_path: Path) -> None:
    sample = Sample([1], [-0.1], "stop")
    assert list(sample.logprobs) == list(struct.unpack("<f", struct.pack("<f", -0.1)))
    assert sample.logprobs[0] != -0.1
    with SampleStore(tmp_path / "s.sqlite") as store:
        store.put(KEY, sample)
    with SampleStore(tmp_path / "s.sqlite") as store:
        assert store.get([KEY]) == [sample]


@pytest.mark.parametrize(
    ("tokens", "logprobs"), [([1], []), ([1], [float("nan")]), ([2**31], [0.0]), ([1.5], [0.0]), ([1], [-1e300])]
)
def test_a_sample_that_cannot_be_stored_is_refused(tokens: list[int], logprobs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"logprob|stored"):
        Sample(tokens, logprobs, "stop")


PAIRS = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.floats(width=32, allow_nan=False)), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=PAIRS, stop=st.text(st.characters(codec="utf-8")), cached=st.integers(0, 2**40), seed=st.integers())
def test_round_trip(tmp_path: Path, pairs: list[tuple[int, float]], stop: str, cached: int, seed: int) -> None:
    sample = Sample([token for token, _ in pairs], [logprob for _, logprob in pairs], stop, cached)
    own = replace(KEY, policy=repr(sample), seed=seed)
    with SampleStore(tmp_path / "s.sqlite") as store:
        store.put(own, sample)
        assert store.get([own]) == [sample]
        assert repr(store.get([own])[0]) == repr(sample)  # tells -0.0 from 0.0


def test_keys_do_not_collide() -> None:
    keys = [
        SampleKey("p", [1, 2], "x", 0, 0),
        SampleKey("p", [1], "x", 2, 0),
        SampleKey("p", [1, 2], "x", 0, 1),
        SampleKey("p", [1, 2], "x", 1, 0),
        SampleKey("p", [2, 1], "x", 0, 0),
        SampleKey("p", [12], "x", 0, 0),
        SampleKey("p", [], "x", 0, 0),
        SampleKey("p", [0], "x", 0, 0),
        SampleKey("px", [1, 2], "", 0, 0),
        SampleKey("", [1, 2], "px", 0, 0),
        SampleKey('p", "x', [1, 2], "", 0, 0),
        SampleKey("p", [1, 2], "x", 0, 10),
        SampleKey("p", [1, 2], "x", 10, 0),
    ]
    assert len({k.digest for k in keys}) == len(keys)
    assert SampleKey("p", (1, 2), "x", 0, 0).digest == keys[0].digest


KEYS = st.builds(
    SampleKey,
    st.text(max_size=3),
    st.tuples() | st.tuples(st.integers(0, 300)),
    st.text(max_size=3),
    st.integers(),
    st.integers(0, 9),
)


@given(KEYS, KEYS)
def test_digests_agree_exactly_when_keys_do(one: SampleKey, other: SampleKey) -> None:
    assert (one.digest == other.digest) == (one == other)


def test_puts_of_one_tick_are_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def run(store: SampleStore) -> None:
        statements: list[str] = []
        store._connection.set_trace_callback(statements.append)
        store.put(key(1), SAMPLE)
        store.put(key(2), SAMPLE)
        assert store.get([key(1)]) == [SAMPLE]
        assert rows(path) == [(0,)]
        await asyncio.sleep(0)
        assert rows(path) == [(2,)]
        store.put(key(3), SAMPLE)
        await asyncio.sleep(0)
        assert [s.split()[0] for s in statements if not s.startswith("SELECT")] == [
            *("BEGIN", "INSERT", "INSERT", "COMMIT"),
            *("BEGIN", "INSERT", "COMMIT"),
        ]

    with SampleStore(path) as store:
        asyncio.run(run(store))
    assert rows(path) == [(3,)]


def test_a_loop_that_ends_before_its_flush_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = SampleStore(path)
    loop = asyncio.new_event_loop()
    loop.call_soon(store.put, key(1), SAMPLE)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert rows(path) == [(0,)]

    async def put_later() -> None:
        store.put(key(2), SAMPLE)
        await asyncio.sleep(0)
        assert rows(path) == [(2,)]

    asyncio.run(put_later())
    store.close()
    store.close()
    assert rows(path) == [(2,)]


def test_updates_and_openings(tmp_path: Path) -> None:
    with SampleStore(tmp_path / "s.sqlite") as store:
        assert store.get_update("a") is None
        store.put_update("a", {"loss": 0.1, "steps": [1, 2]})
        store.put_update("a", {"loss": 9.0})
        assert store.get_update("a") == {"loss": 0.1, "steps": [1, 2]}
        assert store.count_openings("t") == 0
        for policy, chosen in [("p", "s"), ("p", "s"), ("q", "s"), ("p", "other")]:
            store.record_opening("t", policy, chosen)
        assert store.count_openings("t") == 3
        assert store.count_openings("u") == 0


WRITER = """
    import asyncio, sys
    from pathlib import Path
    from posttrain.ledger.store import Sample, SampleKey, SampleStore

    async def main(path, name, ticks, size):
        with SampleStore(path) as store:
            for tick in range(ticks):
                for index in range(size):
                    prompt = [tick] * 500
                    key = SampleKey(f"{name}{tick}", prompt, "", 0, index)
                    store.put(key, Sample([index] * 50, [0.0] * 50, "stop"))
                await asyncio.sleep(0)
                print(tick, flush=True)

    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
"""


def test_two_processes_create_and_write_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    writers = [start(WRITER, path, name, 30, 7) for name in ("a", "b")]
    for writer in writers:
        _, complaint = writer.communicate(timeout=120)
        assert writer.returncode == 0, complaint
    assert rows(path) == [(2 * 30 * 7,)]


@pytest.mark.parametrize("trial", range(3))
def test_a_killed_writer_leaves_whole_ticks(tmp_path: Path, trial: int) -> None:
    path, size = tmp_path / "s.sqlite", 40
    writer = start(WRITER, path, "a", 10**6, size)
    assert writer.stdout is not None
    for _ in range(3 + trial):
        writer.stdout.readline()
    time.sleep(random.uniform(0, 0.03))
    writer.send_signal(signal.SIGKILL)
    said = 3 + trial + len(writer.communicate()[0].splitlines())
    counts = rows(path, "SELECT policy, count(*) FROM samples GROUP BY policy")
    assert {count for _, count in counts} == {size}
    assert len(counts) >= said
    with SampleStore(path) as store:
        assert store.get([SampleKey("a0", [0] * 500, "", 0, 1)]) == [Sample([1] * 50, [0.0] * 50, "stop")]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_text("not a database at all\n" * 500)
    with pytest.raises(StoreError, match=r"s\.sqlite is damaged .* mv .*: samples will be drawn again$"):
        SampleStore(path)


def test_the_advice_on_a_damaged_file_works(tmp_path: Path) -> None:
    path = tmp_path / "with space" / "s.sqlite"
    path.parent.mkdir()
    path.write_text("not a database at all\n" * 500)
    with pytest.raises(StoreError) as caught:
        SampleStore(path)
    subprocess.run(str(caught.value).split("`")[1], shell=True, check=True)
    SampleStore(path).close()


def test_overwritten_pages_are_found(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"

    async def fill(store: SampleStore) -> None:
        for seed in range(500):
            store.put(key(seed), SAMPLE)

    with SampleStore(path) as store:
        asyncio.run(fill(store))
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), SampleStore(path) as store:
        store.get([key(seed) for seed in range(500)])


@pytest.mark.parametrize(
    "damage",
    [
        "tokens = x'00000000ffffffff'",
        "tokens = x'0000'",
        "tokens = 'text'",
        "logprobs = x''",
        "stop_reason = 'length'",
        "stop_reason = cast(x'ff' AS TEXT)",
        "cached_tokens = 1",
        "crc = 1",
    ],
)
def test_a_damaged_row_is_never_returned(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.sqlite"
    with SampleStore(path) as store:
        store.put(KEY, SAMPLE)
        store.put_update("a", {"loss": 1})
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE samples SET {damage}")
    connection.execute("UPDATE updates SET metrics = '{}'")
    connection.commit()
    connection.close()
    with SampleStore(path) as store:
        with pytest.raises(StoreError, match=r"s\.sqlite is damaged"):
            store.get([KEY])
        with pytest.raises(StoreError, match="damaged"):
            store.get_update("a")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    SampleStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match=r"newer posttrain .*upgrade"):
        SampleStore(path)


def test_a_full_disk_is_told_and_leaves_what_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    big = Sample([1] * 4000, [0.0] * 4000, "stop")

    async def fill(store: SampleStore) -> None:
        for seed in range(1000):
            store.put(key(seed), big)
            await asyncio.sleep(0)

    store = SampleStore(path)
    store._connection.execute("PRAGMA max_page_count = 64")
    with pytest.raises(StoreError, match=r"s\.sqlite \(.*full\); free some space .* nothing finished is lost"):
        asyncio.run(fill(store))
    with pytest.raises(StoreError, match="free some space"):
        store.put(key(2000), big)
    with pytest.raises(StoreError, match="free some space"):
        store.flush()
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.flush()
    store.put(key(2001), big)
    store.close()
    with SampleStore(path) as store:
        assert store.get([key(0), key(2001)]) == [big, big]


def test_a_write_refused_by_the_system_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    code = """
        import asyncio, resource, sys
        from pathlib import Path
        from posttrain.errors import StoreError
        from posttrain.ledger.store import Sample, SampleKey, SampleStore

        store = SampleStore(Path(sys.argv[1]))
        store.put(SampleKey("p", [], "", 0, 0), Sample([], [], "stop"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        try:
            for seed in range(1, 1000):
                store.put(SampleKey("p", [], "", seed, 0), Sample([1] * 9000, [0.0] * 9000, "stop"))
        except StoreError as error:
            print(seed, error)
    """
    process = start(code, path)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint
    failed, message = said.split(maxsplit=1)
    assert "free some space" in message
    with SampleStore(path) as store:
        assert all(store.get([SampleKey("p", [], "", seed, 0) for seed in range(int(failed))]))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 200_000


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        SampleStore(tmp_path / "file" / "s.sqlite")
    with pytest.raises(StoreError, match="cannot write"):
        SampleStore(tmp_path)
