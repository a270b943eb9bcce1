"""Record batches: what engines hand over, and what they get."""

from typing import Any

import pytest

from scrapy_gbot_robots.bulk import judge_batch
from scrapy_gbot_robots.bulk.judging import BulkError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

ROBOTS = b"user-agent: *\ndisallow: /no\n"


def test_batch_gets_a_column_for_each_crawler_and_loses_the_bodies() -> None:
    batch = pa.record_batch(
        {
            "id": [1, 2, 3, 4, 5],
            "url": [
                "https://b.example/no",
                "https://a.example/no",
                None,
                "nothing",
                "https://a.example/yes",
            ],
            "status": [503, 200, 200, 404, 200],
            "body": [b"", ROBOTS, ROBOTS, None, ROBOTS],
        }
    )
    judged = judge_batch(batch, ["a", "Googlebot"])
    assert judged.to_pydict() == {
        "id": [1, 2, 3, 4, 5],
        "url": batch["url"].to_pylist(),
        "status": [503, 200, 200, 404, 200],
        "a": [2, 0, None, None, 1],
        "Googlebot": [2, 0, None, None, 1],
    }
    assert judged.schema.field("a").type == pa.int8()


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]
)
def test_body_may_be_text_or_bytes_and_was_served_where_no_status_says_more(kind: Any) -> None:
    bodies = pa.array([ROBOTS.decode(), None], pa.string()).cast(kind)
    batch = pa.record_batch({"url": ["https://a.example/no", "https://b.example/"], "body": bodies})
    assert judge_batch(batch, "a")["a"].to_pylist() == [0, 2]


def test_error_page_that_says_not_found_is_a_404_unless_that_is_off() -> None:
    page = b"<title>Page not found</title>"
    batch = pa.record_batch({"url": ["https://a.example/no"], "status": [500], "body": [page]})
    assert judge_batch(batch, "a")["a"].to_pylist() == [1]
    assert judge_batch(batch, "a", soft_404=False)["a"].to_pylist() == [2]


def test_columns_may_be_dictionaries() -> None:
    urls = pa.array(["https://a.example/no", "https://a.example/x"]).dictionary_encode()
    places = pa.array([0, None], pa.uint32())  # as Polars has them
    bodies = pa.DictionaryArray.from_arrays(places, pa.array([ROBOTS]))
    batch = pa.record_batch({"url": urls, "body": bodies})
    assert judge_batch(batch, "a")["a"].to_pylist() == [0, 2]


def test_empty_batch_is_judged() -> None:
    batch = pa.record_batch({"url": pa.array([], pa.string()), "body": pa.array([], pa.binary())})
    assert judge_batch(batch, "a").to_pydict() == {"url": [], "a": []}


def test_missing_column_is_named_with_those_there_are() -> None:
    with pytest.raises(
        BulkError, match=r"the batch must have one column 'body'; its columns are 'url', 'robots'"
    ):
        judge_batch(pa.record_batch({"url": ["x"], "robots": [b""]}), "a")


def test_column_that_is_called_like_a_crawler_is_refused() -> None:
    batch = pa.record_batch({"url": ["https://a.example/"], "body": [ROBOTS], "a": [1]})
    with pytest.raises(BulkError, match="^the batch has a column 'a', as a crawler is called: "):
        judge_batch(batch, ["a", "b"])
    assert judge_batch(batch, "b").schema.names == ["url", "a", "b"]


def test_status_may_be_text() -> None:
    batch = pa.record_batch(
        {
            "url": ["https://a.example/no"] * 4,
            "status": ["200", "404", "503", None],
            "body": [ROBOTS] * 4,
        }
    )
    assert judge_batch(batch, "a")["a"].to_pylist() == [0, 1, 2, 2]
    wrong = batch.set_column(1, "status", pa.array(["200 OK"] * 4))
    with pytest.raises(TypeError, match="a status is a whole number such as 200, .* '200 OK'"):
        judge_batch(wrong, "a")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("url", [{"a": "x"}]),
        ("url", [1]),
        ("body", [[ROBOTS]]),
        ("body", [{"a": b""}]),
        ("body", [1]),
    ],
)
def test_column_without_text_is_refused(name: str, column: list[Any]) -> None:
    rows = {"url": ["https://a.example/no"], "status": [200], "body": [ROBOTS], name: column}
    with pytest.raises(BulkError, match=f"the batch: the column '{name}' holds .*, not text"):
        judge_batch(pa.record_batch(rows), "a")


def test_table_is_no_batch() -> None:
    with pytest.raises(TypeError, match="^judge_batch takes a RecordBatch, not Table"):
        judge_batch(pa.table({"url": ["https://a.example/"], "body": [ROBOTS]}), "a")
