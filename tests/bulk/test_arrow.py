"""Record batches: what engines hand over, and what they get."""

from typing import Any

import pytest

from scrapy_gbot_robots.bulk import judge_arrow
from scrapy_gbot_robots.bulk.judging import BulkError

from ..support.rows import table

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

ROBOTS = b"user-agent: *\ndisallow: /no\n"


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_batch_gets_a_column_for_each_crawler_and_loses_the_bodies(kind: Any) -> None:
    statuses = pa.array([503, 200, 200, 404, None]).cast(kind)
    numbers, bodies = [1, 2, 3, 4, 5], [b"", ROBOTS, ROBOTS, None, ROBOTS]
    urls = ["https://b.example/no", "https://a.example/no", None, "nothing", "https://a.example/x"]
    columns = {"id": numbers, "url": urls, "status": statuses, "body": bodies}
    batch = pa.record_batch(columns).replace_schema_metadata({"from": "a crawl"})
    judged = judge_arrow(batch, ["a", "Googlebot"])
    assert judged.to_pydict() == {
        "id": numbers,
        "url": urls,
        "status": statuses.to_pylist(),
        "a": [2, 0, None, None, 2],
        "Googlebot": [2, 0, None, None, 2],
    }
    assert judged.schema.field("a").type == pa.int8()
    assert judged.schema.metadata == {b"from": b"a crawl"}


@table("kind", pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view())
def test_body_may_be_text_or_bytes_and_was_served_where_no_status_says_more(kind: Any) -> None:
    bodies = pa.array([ROBOTS.decode(), None], pa.string()).cast(kind)
    batch = pa.record_batch({"url": ["https://a.example/no", "https://b.example/"], "body": bodies})
    assert judge_arrow(batch, "a")["a"].to_pylist() == [0, 2]


def test_words_mean_what_they_mean_for_judge() -> None:
    bodies = [b"<title>Page not found</title>", b"", b""]
    urls = ["https://a.example/no"] * 3
    batch = pa.record_batch({"url": urls, "status": [500, 503, 403], "body": bodies})
    assert judge_arrow(batch, "a")["a"].to_pylist() == [1, 2, 1]
    assert judge_arrow(batch, "a", soft_404=False)["a"].to_pylist() == [2, 2, 1]
    other = judge_arrow(batch, "a", unreachable="allow", access_denied="disallow")
    assert other["a"].to_pylist() == [1, 1, 0]


def test_columns_may_be_dictionaries() -> None:
    urls = pa.array(["https://a.example/no", "https://a.example/x"]).dictionary_encode()
    places = pa.array([0, None], pa.uint32())  # as Polars has them
    bodies = pa.DictionaryArray.from_arrays(places, pa.array([ROBOTS]))
    batch = pa.record_batch({"url": urls, "body": bodies})
    assert judge_arrow(batch, "a")["a"].to_pylist() == [0, 2]


def test_empty_batch_is_judged() -> None:
    batch = pa.record_batch({"url": pa.array([], pa.string()), "body": pa.array([], pa.binary())})
    assert judge_arrow(batch, "a").to_pydict() == {"url": [], "a": []}


def test_missing_column_is_named_with_those_there_are() -> None:
    said = "the batch must have one column 'body'; its columns are 'url', 'robots'"
    with pytest.raises(BulkError, match=said):
        judge_arrow(pa.record_batch({"url": ["x"], "robots": [b""]}), "a")


@pytest.mark.parametrize("name", ["status", "other"])
def test_column_that_is_there_twice_is_named(name: str) -> None:
    batch = pa.record_batch([["x"], [b""], [200], [200]], names=["url", "body", name, name])
    with pytest.raises(BulkError, match=f"^the batch must have one column '{name}'; its columns"):
        judge_arrow(batch, "a")


def test_column_that_is_called_like_a_crawler_is_refused() -> None:
    batch = pa.record_batch({"url": ["https://a.example/"], "body": [ROBOTS], "a": [1]})
    with pytest.raises(
        BulkError, match="^the batch has a column 'a', which is the name of a crawler: "
    ):
        judge_arrow(batch, ["a", "b"])
    assert judge_arrow(batch, "b").schema.names == ["url", "a", "b"]


@table(
    "name, column",
    ("url", [{"a": "x"}]),
    ("url", [1]),
    ("body", [[ROBOTS]]),
    ("body", [{"a": b""}]),
    ("body", [1]),
)
def test_column_without_text_is_refused(name: str, column: list[Any]) -> None:
    rows = {"url": ["https://a.example/no"], "status": [200], "body": [ROBOTS], name: column}
    with pytest.raises(BulkError, match=f"the batch: the column '{name}' contains .*, not text"):
        judge_arrow(pa.record_batch(rows), "a")


def test_table_is_no_batch() -> None:
    with pytest.raises(TypeError, match="^judge_arrow takes a RecordBatch, not Table"):
        judge_arrow(pa.table({"url": ["https://a.example/"], "body": [ROBOTS]}), "a")
