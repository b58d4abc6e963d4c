#!/usr/bin/env python3
"""Creates the transcripts of docs/transcripts.md: `forage keyword` on three repositories, with manually written answers.

The sources come from the package registries through their own clients (pip, cargo, npm), at fixed versions. A local server
acts as the model. It sends the answers of bench/transcripts.json, which were written manually after reading the evidence.
Each search runs with `--record`, and again with `--replay`, which must print the same. Prints the generated part of the page.
"""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True  # no bytecode files in the sources
from fake_model import FakeModel, serve
from filter import Tokens, shown_files

# Name and settings of `[filter]`: the requirement's form, which is the default, and the smallest one.
FORMS = [
    ("requirement", {"evidence": "requirement", "answer": "paths"}),
    ("compact", {"evidence": "compact", "answer": "ids"}),
]


def unpack(archive, directory):
    """Unpacks an archive with one top-level directory, which is renamed."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(directory)) as scratch:
        with tarfile.open(archive) as files:
            files.extractall(scratch, filter="data")
        [top] = os.listdir(scratch)
        os.rename(os.path.join(scratch, top), directory)


def download(source, directory):
    package, version = source["package"], source["version"]
    with tempfile.TemporaryDirectory() as scratch:
        run = lambda *command: subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.PIPE).stdout
        if source["client"] == "pip":
            run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", f"{package}=={version}")
            unpack(glob.glob(os.path.join(scratch, "*.tar.gz"))[0], directory)
        elif source["client"] == "npm":
            run("npm", "pack", "--silent", f"{package}@{version}")
            unpack(glob.glob(os.path.join(scratch, "*.tgz"))[0], directory)
        else:
            os.mkdir(os.path.join(scratch, "src"))
            open(os.path.join(scratch, "src/lib.rs"), "w").close()
            with open(os.path.join(scratch, "Cargo.toml"), "w", encoding="utf-8") as manifest:
                manifest.write(f'[package]\nname = "sources"\nedition = "2021"\n[dependencies]\n{package} = "={version}"\n')
            metadata = json.loads(run("cargo", "metadata", "--quiet", "--format-version", "1"))
            [found] = [p for p in metadata["packages"] if (p["name"], p["version"]) == (package, version)]
            shutil.copytree(os.path.dirname(found["manifest_path"]), directory)


def answer_of(files, user, tree):
    """Formats an answer like a model: lines, or JSON with the ids of the files in the evidence."""
    if all(isinstance(file, str) for file in files):
        return "\n".join(files).replace("{root}", tree)
    ids = {path: name for name, path in re.findall(r"^(F\d+) (.*?) \([^\n]*×\d+\)", user, re.MULTILINE)}
    entries = [{"id": ids[file["path"]], **{key: file[key] for key in ("grade", "ranges", "why")}} for file in files]
    return json.dumps({"files": entries}, ensure_ascii=False)


class Model(FakeModel):
    """Responds with the result of `answer` for the user's message. Counts tokens and stores the body of the request."""

    answer, bodies, tokens = None, [], None

    def message(self, request):
        texts = [message["content"] for message in request["messages"]]
        answer = Model.answer(texts[-1])
        counts = self.tokens.count([*texts, answer])
        self.usage = {"prompt_tokens": sum(counts[:-1]), "completion_tokens": counts[-1]}
        Model.bodies.append((int(self.headers["content-length"]), sum(counts[:-1]), counts[-1], request))
        return {"content": answer}


def normalize(output, tree):
    """Removes the seconds from an output, and replaces the path of the tree."""
    return re.sub(r", [0-9.]+ s\]", "]", output.replace(os.path.dirname(tree), "/sources"))


def search(options, url, case, tree, settings):
    """Runs one search with `--record`, and again with `--replay`. Returns the output."""
    with tempfile.TemporaryDirectory() as directory:
        config, recording = os.path.join(directory, "config.toml"), os.path.join(directory, "tape.jsonl")
        with open(config, "w", encoding="utf-8") as file:
            file.write("[filter]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
            file.write(f'[[models]]\nprovider = "local"\nmodel = "by-hand"\nbase_url = "{url}"\n')
        environment = {"PATH": "", "HOME": directory, "FORAGE_CONFIG": config}
        outputs = []
        for flags in (["--record", recording], ["--replay", recording]):
            command = [options.forage, "--root", tree, "keyword", *flags, case["question"], *case["terms"]]
            run = subprocess.run(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
            if run.returncode == 2:
                sys.exit(f"{case['name']}: {run.stderr.decode()}")
            outputs.append(normalize(run.stdout.decode(), tree))
        if outputs[0] != outputs[1]:
            sys.exit(f"{case['name']}: the replay has a different output:\n{outputs[0]}\n{outputs[1]}")
        return outputs[0].rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--forage", required=True, type=os.path.abspath)
    parser.add_argument("--sources", required=True, type=os.path.realpath, help="directory for the sources, outside of git")
    parser.add_argument("--tokenizer", help="command that reads a JSON list of texts and prints a JSON list of counts")
    parser.add_argument("--requests", help="directory to write the requests to, as a basis for answers")
    options = parser.parse_args()
    Model.tokens = Tokens(options.tokenizer)
    url = serve(Model)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "transcripts.json"), encoding="utf-8") as file:
        cases = json.load(file)

    os.makedirs(options.sources, exist_ok=True)
    rows, pages = [], []
    for case in cases:
        tree = os.path.join(options.sources, f"{case['name']}-{case['source']['version']}")
        if not os.path.isdir(tree):
            print(f"downloading {case['name']}", file=sys.stderr)
            download(case["source"], tree)
        terms = " ".join(f"'{term}'" for term in case["terms"])
        page = [f"## {case['name']} {case['source']['version']}, {case['language']}\n", "```sh"]
        page += [f"cd /sources/{os.path.basename(tree)}", f"forage keyword '{case['question']}' \\\n    {terms}", "```"]
        base = None
        for form, settings in FORMS:
            Model.bodies.clear()
            Model.answer = lambda user, files=case["answers"][form], tree=tree: answer_of(files, user, tree)
            output = search(options, url, case, tree, settings)
            # The replay sends no request.
            [(size, sent_tokens, answer_tokens, body)] = Model.bodies
            if options.requests:
                os.makedirs(options.requests, exist_ok=True)
                with open(os.path.join(options.requests, f"{case['name']}-{form}.txt"), "w", encoding="utf-8") as file:
                    file.write("\n\n".join(message["content"] for message in body["messages"]))
            shown = len(shown_files(body["messages"][1]["content"], tree))
            base = base or sent_tokens
            rows.append(
                f"| {case['name']} | {form} | {shown} | {size:,} | {sent_tokens:,} | {sent_tokens / base:.2f} | {answer_tokens:,} |"
            )
            settings_text = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in settings.items())
            page += [f"\n{form.capitalize()} form ({settings_text}):\n", "```text", output, "```"]
        pages.append("\n".join(page))

    print(f"Tokens are counted by {Model.tokens.name}.", file=sys.stderr)
    print("| repository | form | files shown | bytes sent | tokens sent | to requirement | tokens of the answer |")
    print("|---|---|---|---|---|---|---|")
    print("\n".join(rows) + "\n")
    print("\n\n".join(pages))


if __name__ == "__main__":
    main()
