"""`python -m vptx` runs the program `vptx` of the same installation."""

import os
import subprocess
import sys
import sysconfig


def program() -> str:
    """The path of the program, in the folder of this installation's scripts."""
    name = "vptx" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    # `pip install --target` makes a folder `bin` beside the packages.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"no program {name} in {', '.join(folders)}")


def main() -> None:
    arguments = [program(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(arguments).returncode)
    os.execv(arguments[0], arguments)


if __name__ == "__main__":
    main()
