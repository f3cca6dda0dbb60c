# {"client":"llm","protocol":"openai","packages":["llm==0.36"],"shows":"extra-openai-models.yaml with api_base and api_key_name"}
import os
import pathlib
import subprocess
import sys

home = pathlib.Path("llm-home").absolute()
home.mkdir()
os.environ["LLM_USER_PATH"] = str(home)
from check import base_url, done, equal, token  # noqa: E402

(home / "extra-openai-models.yaml").write_text(f"- model_id: door\n  model_name: gpt-4o\n  api_base: {base_url}\n  api_key_name: door\n")


def ask(*words):
    command = [sys.executable, "-m", "llm", *words, "-m", "door", "--key", token]
    return subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()


equal("reply", ask("hello", "--no-stream"), "you said hello")
equal("stream", ask("hello"), "you said hello")
equal("history", ask("-c", "history"), "before: hello, you said hello")
done()
