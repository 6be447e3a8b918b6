"""Workload files on disk."""

import numpy as np
import pytest

from sordino_analysis.questions.linear import WorkloadError, load_specification

HEAD = "name: test\ndomain: [{name: delay, kind: ordinal, edges: [0, 15]}]\n"


@pytest.fixture
def write(tmp_path):
    def write(queries, **files):
        for name, content in files.items():
            path = tmp_path / name.replace("_", ".")
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                np.save(path, content, allow_pickle=True)
        path = tmp_path / "workload.yaml"
        path.write_text(HEAD + queries, encoding="utf-8")
        return path

    return write


def test_a_yaml_file_is_read(write):
    assert load_specification(write("queries: prefix")).build().queries == 2


@pytest.mark.parametrize(
    ("csv", "labels"),
    [
        ("1,0,0\n1,1,0\n", ["query 1", "query 2"]),
        ("low,middle,high\n1,0,0\n1,1,0\n", ["query 1", "query 2"]),
        ("query,low,middle,high\nfirst,1,0,0\nsecond,1,1,0\n", ["first", "second"]),
        ("first,1,0,0\n\nsecond,1,1,0", ["first", "second"]),
        ("\ufeff1,0,0\r\n1,1,0\r\n", ["query 1", "query 2"]),
    ],
)
def test_a_csv_matrix_is_put_in_place(write, csv, labels):
    specification = load_specification(write("queries: {file: m.csv}", m_csv=csv))
    workload = specification.build()
    np.testing.assert_array_equal(workload.operator.dense(), [[1, 0, 0], [1, 1, 0]])
    assert workload.labels() == labels
    assert "file" not in str(specification.canonical())


@pytest.mark.parametrize("kind", [float, np.float32, int, np.uint8, bool])
def test_an_npy_matrix_is_put_in_place(write, kind):
    matrix = np.array([[1, 0, 0], [1, 1, 0]], dtype=kind)
    path = write("queries: {file: m.npy, labels: [a, b]}", m_npy=matrix)
    workload = load_specification(path).build()
    np.testing.assert_array_equal(workload.operator.dense(), matrix)
    assert workload.labels() == ["a", "b"]


@pytest.mark.parametrize(
    ("queries", "files", "advice"),
    [
        ("queries: {file: absent.csv}", {}, "cannot read"),
        ("queries: {file: absent.npy}", {}, "cannot read"),
        ("queries: {file: m.txt}", {"m_txt": "1,2,3"}, "ends in .csv or .npy"),
        ("queries: {file: m.csv}", {"m_csv": ""}, "no rows"),
        ("queries: {file: m.csv}", {"m_csv": "a,b,c\n"}, "no rows"),
        ("queries: {file: m.csv}", {"m_csv": "1,2,x\n1,2,3\n"}, "'x' is no number"),
        ("queries: {file: m.csv}", {"m_csv": "1,2,3\n1,2\n"}, "every row needs"),
        ("queries: {file: m.csv}", {"m_csv": "1,2,nan\n"}, "finite"),
        ("queries: {file: m.npy}", {"m_npy": np.array([[1, None, "x"]], dtype=object)}, "cannot read"),
        ("queries: {file: m.npy}", {"m_npy": np.ones((1, 3)) * 1j}, "real numbers"),
        ("queries: {file: m.npy}", {"m_npy": np.ones(3)}, "one table"),
        ("queries: {file: m.npy}", {"m_npy": "no array"}, "cannot read"),
        ("queries: {file: m.npy}", {"m_npy": np.array([[1.0, 2.0, np.inf]])}, "finite"),
        ("queries: [", {}, "no YAML"),
    ],
)
def test_files_that_do_not_fit_are_refused_with_advice(write, queries, files, advice):
    with pytest.raises(WorkloadError, match=advice):
        load_specification(write(queries, **files)).build()


def test_a_file_that_is_not_there_or_no_mapping_is_refused(tmp_path):
    with pytest.raises(WorkloadError, match="cannot read"):
        load_specification(tmp_path / "absent.yaml")
    path = tmp_path / "list.yaml"
    path.write_text("- 1\n- 2\n")
    with pytest.raises(WorkloadError, match="mapping"):
        load_specification(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkloadError, match="cannot read"):
        load_specification(path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (HEAD + "queries: prefix\nqueries: histogram\n", "line 4, column 1"),
        ('{"name": "test", "queries": "prefix",\n "queries": "histogram"}', "line 2, column 2"),
        (HEAD.replace("edges: [0, 15]", "edges: [0], edges: [15]") + "queries: prefix\n", "line 2, column "),
    ],
)
def test_a_key_that_is_there_twice_is_refused_where_it_is(tmp_path, text, place):
    path = tmp_path / "workload.yaml"
    path.write_text(text)
    with pytest.raises(WorkloadError, match=rf"is there twice: keep one \({place}"):
        load_specification(path)
