"""Record batches: what engines hand over, and what they get."""

from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots.bulk import judge_batch
from scrapy_gbot_robots.bulk.audit_files import UrlFile, csv_lines, json_lines
from scrapy_gbot_robots.bulk.judging import BulkError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

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


def test_empty_batch_is_judged() -> None:
    batch = pa.record_batch({"url": pa.array([], pa.string()), "body": pa.array([], pa.binary())})
    assert judge_batch(batch, "a").to_pydict() == {"url": [], "a": []}


def test_missing_column_is_named_with_those_there_are() -> None:
    with pytest.raises(
        BulkError, match=r"the batch has no column 'body'; its columns are 'url', 'robots'"
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


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view()])
def test_list_of_urls_may_have_text_of_any_type(tmp_path: Path, kind: Any) -> None:
    urls = pa.array(["https://a.example/", None], pa.string()).cast(kind)
    path = str(tmp_path / "urls.parquet")
    pq.write_table(pa.table({"url": urls, "same": urls, "id": [1, 2]}), path)
    table = UrlFile(path)
    ((texts, same, ids),) = table.rows()
    assert texts == ["https://a.example/"]
    assert same.cast("string").to_pylist() == ["https://a.example/"]
    assert (ids.to_pylist(), table.left_out) == ([1], 1)


@pytest.mark.parametrize("name", ["urls.parquet", "urls.csv"])
def test_progress_of_a_list_goes_up_to_the_size_of_its_file(tmp_path: Path, name: str) -> None:
    urls = [f"https://a.example/{number:06}" for number in range(120_000)]
    if name == "urls.csv":
        (tmp_path / name).write_text("\n".join(["url", *urls]))
    else:
        pq.write_table(pa.table({"url": urls}), tmp_path / name, use_dictionary=False)
    table = UrlFile(str(tmp_path / name))
    assert [round(table.done / table.size, 1) for _ in table.rows()] == [0.0, 0.4, 0.8]
    assert table.done == table.size


def test_other_columns_are_written_as_json_and_csv_have_them() -> None:
    numbers = pa.array([0.5, float("nan"), float("-inf"), None])
    texts = pa.array([b"caf\xc3\xa9", b"\xff", b"", None], pa.binary())
    rows = json_lines(["n", "t"], [numbers, texts]).splitlines()
    assert rows == [
        '{"n": 0.5, "t": "caf\\u00e9"}',
        '{"n": null, "t": "%FF"}',
        '{"n": null, "t": ""}',
        '{"n": null, "t": null}',
    ]
    assert csv_lines(["n", "t"], [numbers, texts]) == "0.5,café\n,%FF\n,\n,\n"


@pytest.mark.parametrize(
    ("column", "in_json", "in_csv"),
    [
        (pa.array([b"caf\xc3\xa9"], pa.large_binary()), '"caf\\u00e9"', "café"),
        (pa.array([b"abc"], pa.binary(3)), '"abc"', "abc"),
        (pa.array([b"abc"], pa.binary_view()), '"abc"', "abc"),
        (pa.array([b"abc"]).dictionary_encode(), '"abc"', "abc"),
        (pa.array([[float("nan"), 1.0]]), "[null, 1.0]", '"[null, 1.0]"'),
        (
            pa.array([{"a": b"\xff", "b": float("inf")}]),
            '{"a": "%FF", "b": null}',
            '"{""a"": ""%FF"", ""b"": null}"',
        ),
        (
            pa.array([[("a", b"b")]], pa.map_(pa.string(), pa.binary())),
            '[["a", "b"]]',
            '"[[""a"", ""b""]]"',
        ),
    ],
    ids=["large", "fixed", "view", "dictionary", "list", "struct", "map"],
)
def test_bytes_of_any_type_are_text_no_row_has_nan_and_csv_has_json_in_it(
    column: Any, in_json: str, in_csv: str
) -> None:
    assert json_lines(["x"], [column]) == f'{{"x": {in_json}}}\n'
    assert csv_lines(["x"], [column]) == f"{in_csv}\n"


def test_what_is_not_printable_is_escaped_in_csv() -> None:
    assert csv_lines(["url", "n"], [["a\x1b[31m\nb", "ü,"], [1, 2]]) == 'a\\x1b[31m\\nb,1\n"ü,",2\n'
