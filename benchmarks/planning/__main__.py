"""`python -m benchmarks.planning [--quick] [--json]`: how long planning takes on one core."""

import argparse
import json
import os


def main() -> None:
    """Measure, and print a table or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only, a few seconds")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the import below.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from benchmarks.planning import measure

    prefixes = (64, 128) if options.quick else (64, 128, 256, 512, 1024)
    workloads = [("prefix", k) for k in prefixes] + [("ranges", 32 if options.quick else 128)]
    solves = list(measure.solves(workloads))
    compared = list(measure.comparisons(16 if options.quick else 48))
    if options.json:
        print(json.dumps({"solves": measure.as_json(solves), "comparisons": measure.as_json(compared)}, indent=2))
        return
    print("| workload | objective | seconds | iterations | certified gap | seconds of the lower bound |")
    print("|---|---|---|---|---|---|")
    for s in solves:
        print(
            f"| {s.workload} | {s.objective} | {s.seconds:.3f} | {s.iterations} | {s.gap:.2%} | {s.bound_seconds:.3f} |"
        )
    print("\n| workload | objective | solver | tolerance | its certified gap | its seconds | ours | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for c in compared:
        print(
            f"| {c.workload} | {c.objective} | {c.solver} | {c.tolerance:g} | {c.gap:.2%} | {c.solver_seconds:.3f} "
            f"| {c.own_seconds:.4f} | {c.ratio:.0f}× |"
        )


if __name__ == "__main__":
    main()
