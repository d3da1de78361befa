"""Looks up known vulnerabilities of the packages that this interpreter has; fails when there is one.

Where the auditor or its advisories cannot be had, it says so and goes on. It counts what was looked up,
since pip-audit calls a package that its service does not know free of vulnerabilities.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

AUDITOR = "pip-audit>=2.9"


def main() -> int:
    """Return 1 when an installed package has a known vulnerability."""
    if importlib.util.find_spec("pip_audit") is None:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", AUDITOR]
        if subprocess.run(install, capture_output=True).returncode != 0:
            print("audit: pip-audit cannot be installed here; nothing was looked up")
            return 0
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off"]
    done = subprocess.run([*command, "--timeout", "15", "-f", "json"], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        said = done.stderr.strip().splitlines() or ["no word"]
        print(f"audit: the advisories cannot be reached; nothing was looked up ({said[-1][:200]})")
        return 0
    known = [package for package in packages if "vulns" in package]
    if not known:
        print(f"audit: the service knows none of the {len(packages)} packages; nothing was looked up")
        return 0
    faults = [(package, fault) for package in known for fault in package["vulns"]]
    for package, fault in faults:
        fixed = ", ".join(fault.get("fix_versions", [])) or "no version yet"
        print(f"{package['name']} {package['version']}: {fault['id']}, fixed in {fixed}")
    print(f"audit: {len(known)} of {len(packages)} packages were looked up, {len(faults)} vulnerabilities")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
