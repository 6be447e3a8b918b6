"""Exit 1 for a known vulnerability of a pinned version, 0 for none, 0 and a plain word where nobody could be asked.

The arguments are a pip-audit command. Its own exit code is 1 both for a finding and for advisories out of reach, and 0
where they know none of the packages; its report tells these apart. A dry run before it fails for any other reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def reported(command: list[str]) -> tuple[list[dict[str, Any]], str]:
    """The packages of pip-audit's report, and why it could not ask; no packages where it broke off."""
    rehearsal = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    if rehearsal.returncode:
        sys.exit(rehearsal.stderr)
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    if not done.stdout:
        return [], (done.stderr.splitlines() or ["no report"])[-1]
    packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    return packages, next((package["skip_reason"] for package in packages if "skip_reason" in package), "")


def main() -> int:
    packages, reason = reported(sys.argv[1:])
    audited = [package for package in packages if "vulns" in package]
    vulnerable = [package for package in audited if package["vulns"]]
    for package in vulnerable:
        for found in package["vulns"]:
            remedy = ", ".join(found["fix_versions"]) or "no version yet"
            print(f"{package['name']} {package['version']}: {found['id']}, fixed in {remedy}")
    if audited:
        print(f"{len(audited)} of {len(packages)} pinned versions audited, {len(vulnerable)} vulnerable. {reason}")
    else:
        print(f"NOTHING WAS AUDITED, the advisories were out of reach. {reason}")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
