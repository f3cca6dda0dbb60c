# {"client":"aider","protocol":"openai","packages":["aider-chat==0.86.2"],"shows":"--model openai/NAME --openai-api-base URL"}
import subprocess
import sys

from check import base_url, done, equal, token

command = [sys.executable, "-m", "aider", "--model", "openai/gpt-4o", "--openai-api-base", base_url]
command += ["--openai-api-key", token, "--no-git", "--no-analytics", "--no-check-update", "--yes-always"]
command += ["--no-show-model-warnings", "--no-pretty", "--chat-mode", "ask", "--message", "hello"]
output = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=50).stdout
print(output)
equal("reply", "you said hello" in output, True)
done()
