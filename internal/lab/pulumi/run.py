"""Runs a Pulumi program in this process, by Pulumi's Automation API.

usage: run.py PROGRAM PROJECT STACK up|preview|destroy, with the configuration as JSON on standard input
"""

import json
import os
import runpy
import sys

from pulumi import automation


def main():
    program, project, name, command = sys.argv[1:]
    stack = automation.create_or_select_stack(
        stack_name=name,
        project_name=project,
        program=lambda: runpy.run_path(os.path.join(program, "__main__.py")) and None,
    )
    # Inline programs have no Pulumi.yaml, whose options say refresh: always.
    settings = json.load(sys.stdin)
    stack.set_all_config({k: automation.ConfigValue(v) for k, v in settings.items()})
    if command == "up":
        stack.up(refresh=True, on_output=print, color="never")
    elif command == "preview":
        stack.preview(refresh=True, expect_no_changes=True, on_output=print, color="never")
    else:
        stack.destroy(refresh=True, on_output=print, color="never")


main()
