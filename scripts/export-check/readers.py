"""Reads the exports of a run by what others read with, and compares each value. Usage: readers.py FOLDER

FOLDER has jsonl, parquet and so on, each a file or folder named by its format. A JSON object a line tells what each reader made of each
format: {"format", "reader", "rows", "differences", "first"}. {"missing": reader, "why"} tells of one that is not installed.
"""

import importlib
import json
import math
import os
import sys

FOLDER = sys.argv[1]
os.environ["TRACKIO_DIR"] = os.path.join(FOLDER, "trackio")  # It is read once, at the import.
NEEDS = {
    "datasets": ["datasets"],
    "pyarrow": ["pyarrow"], "pandas": ["pandas", "pyarrow"], "polars": ["polars"], "duckdb": ["duckdb"], "tensorboard": ["tensorboard"],
    "wandb": ["wandb"], "trackio": ["trackio"]}
LINES = {"jsonl", "jsonl-large", "demonstrations", "critiques", "metrics", "otlp-json", "trl"}
IN_ORDER = {"parquet", "huggingface"}
# Of a file with more rows each fiftieth row is compared.
LARGE = 2_000


def path_of(name):
    return os.path.join(FOLDER, name)


def lines_of(name):
    with open(path_of(name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_pyarrow(path, is_lines):
    if is_lines:
        from pyarrow import json as arrow

        return arrow.read_json(path).to_pylist()
    from pyarrow import parquet

    return parquet.read_table(path).to_pylist()


def read_pandas(path, is_lines):
    import pandas

    frame = pandas.read_json(path, lines=True, convert_dates=False, dtype=False) if is_lines else pandas.read_parquet(path)
    return frame.to_dict("records")


def read_polars(path, is_lines):
    import polars

    return (polars.read_ndjson(path, infer_schema_length=None) if is_lines else polars.read_parquet(path)).to_dicts()


def read_duckdb(path, is_lines):
    import duckdb

    call = f"read_json('{path}', format='newline_delimited', maximum_object_size=100000000)" if is_lines else f"read_parquet('{path}')"
    found = duckdb.sql(f"select * from {call}")
    return [dict(zip(found.columns, row)) for row in found.fetchall()]


def read_datasets(path, is_lines):
    import datasets

    datasets.disable_progress_bars()
    kind = "json" if is_lines else "parquet"
    return datasets.load_dataset(kind, data_files=path, split="train", cache_dir=path + ".cache").to_list()


READERS = {"datasets": read_datasets, "pyarrow": read_pyarrow, "pandas": read_pandas, "polars": read_polars, "duckdb": read_duckdb}


def plain(value):
    """Returns a value of a reader as JSON would have it."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def same(expected, found):
    """Whether a reader's value is the written one. Readers give a missing field as null, and JSON in a column as text."""
    found = plain(found)
    if isinstance(found, str) and not isinstance(expected, str):
        try:
            found = json.loads(found)
        except ValueError:
            return False
    if expected is None:
        return found is None
    if isinstance(expected, bool) or isinstance(expected, str):
        return expected == found
    if isinstance(expected, (int, float)):
        return isinstance(found, (int, float)) and math.isclose(expected, found, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(expected, list):
        return isinstance(found, (list, tuple)) and len(found) == len(expected) and all(map(same, expected, found))
    if isinstance(found, list):  # A map, as pairs.
        found = dict(found)
    if not isinstance(found, dict):
        return False
    return all(same(expected.get(key), found.get(key)) for key in {*expected, *found})


def read_dataset_folder():
    """Returns the rows of all splits, as the card names them, and holds that a row lies in its own split."""
    import datasets

    datasets.disable_progress_bars()
    found = datasets.load_dataset(path_of("huggingface"), cache_dir=path_of("huggingface.cache"))
    for split, rows in found.items():
        odd = [row["split"] for row in rows if row["split"].replace("-", "_") != split]
        if odd:
            raise ValueError(f"split {split} has a row of {odd[0]}")
    return [row for rows in found.values() for row in rows.to_list()]


def compare(name, reader, rows):
    expected = lines_of("jsonl" if name in IN_ORDER else name)
    if name in IN_ORDER:  # Their rows are in the order of the log.
        expected, rows = (sorted(some, key=lambda row: row["position"]) for some in (expected, rows))
    differences, first = abs(len(expected) - len(rows)), None
    every = 1 if len(expected) < LARGE else 50
    for index, (one, other) in list(enumerate(zip(expected, rows)))[::every]:
        for key in {*one, *other}:
            if not same(one.get(key), other.get(key)):
                differences += 1
                first = first or f"row {index}, {key}: {str(one.get(key))[:200]} is {str(other.get(key))[:200]}"
    print(json.dumps({"format": name, "reader": reader, "rows": len(rows), "differences": differences, "first": first}))


def tensorboard_figures():
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(path_of("tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    found = {(tag, one.step): one.value for tag in tags["scalars"] for one in events.Scalars(tag)}
    if not found:
        found = {(tag, one.step): float(one.tensor_proto.float_val[0]) for tag in tags["tensors"] for one in events.Tensors(tag)}
    compare_figures("tensorboard", found)


def compare_figures(name, found):
    """Compares figures by name and step with the lines of `metrics`. The format and its reader have one name."""
    expected = {(key, row["step"]): value for row in lines_of("metrics") for key, value in row["metrics"].items()}
    wrong = [key for key in {*expected, *found} if not same(expected.get(key), found.get(key))]
    first = f"{wrong[0]}: {expected.get(wrong[0])} is {found.get(wrong[0])}" if wrong else None
    print(json.dumps({"format": name, "reader": name, "rows": len(found), "differences": len(wrong), "first": first}))


def trackio_figures():
    from trackio.sqlite_storage import SQLiteStorage

    found = {}
    for project in SQLiteStorage.get_projects():
        for run in SQLiteStorage.get_runs(project):
            for row in SQLiteStorage.get_logs(project, run):
                found.update({(key, row["step"]): value for key, value in row.items() if key not in {"step", "timestamp"}})
            if "policy" not in SQLiteStorage.get_run_config(project, run):
                raise ValueError(f"{run} has no config")
    compare_figures("trackio", found)


def wandb_figures():
    """Reads by the program of the package, which inspects the latest run of a folder."""
    import subprocess
    import wandb

    home = path_of("wandb.cache")
    os.makedirs(home)
    [folder] = os.listdir(path_of("wandb"))
    os.rename(os.path.join(path_of("wandb"), folder), os.path.join(home, folder))
    os.symlink(folder, os.path.join(home, "latest-run"))
    core = os.path.join(os.path.dirname(wandb.__file__), "bin", "wandb-core")
    words = [core, "leet", "inspect", "-no-observability", "-json", home]
    told = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "HOME": home}).stdout
    records = [json.loads(line) for line in told.splitlines()]
    kinds = [record["type"] for record in records]
    if (kinds[:2], kinds[-1]) != (["header", "run"], "exit"):
        raise ValueError(f"the records are {kinds}")
    rows = [record["history"]["item"] for record in records if record["type"] == "history"]
    compare_figures("wandb", {(key, row["_step"]): value for row in rows for key, value in row.items() if key[0] != "_"})


FIGURES = {"tensorboard": tensorboard_figures, "trackio": trackio_figures, "wandb": wandb_figures}

for reader, modules in NEEDS.items():
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        print(json.dumps({"missing": reader, "why": str(error)}))
        continue
    for name in sorted(name for name in os.listdir(FOLDER) if not name.endswith('.cache')):
        try:
            if reader in FIGURES:
                if name == reader:
                    FIGURES[reader]()
            elif name == "huggingface":
                if reader == "datasets":
                    compare(name, reader, read_dataset_folder())
            elif name in LINES or name == "parquet":
                compare(name, reader, READERS[reader](path_of(name), name in LINES))
        except Exception as error:
            print(json.dumps({"format": name, "reader": reader, "rows": 0, "differences": 1, "first": f"{type(error).__name__}: {str(error)[:300]}"}))
