"""Makes a test's calls with the Python package. Arguments: TREE REQUESTS."""

import json
import sys

import forage

METHODS = {"grep_search": "grep", "Search": "search", "search_index": "rank", "list_directory": "list", "read_file": "read", "count_words": "count"}

workspace = forage.Workspace(sys.argv[1], index=False)
answers = []
for tool, request in json.loads(sys.argv[2]):
    try:
        assert callable(getattr(workspace, METHODS[tool])), tool
        answer = workspace.call(tool, request)
        answers.append({"text": answer.text, "records": answer.to_dict()})
    except forage.ForageError as error:
        answers.append({"code": error.code, "text": error.text})
print(json.dumps(answers))
