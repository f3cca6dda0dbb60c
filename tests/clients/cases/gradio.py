# {"client":"Gradio","protocol":"openai","packages":["gradio==6.31.0","openai==3.57.0"],"shows":"gr.load_chat"}
import os

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
import gradio  # noqa: E402
from check import base_url, done, equal, token  # noqa: E402
from gradio_client import Client  # noqa: E402

chat = gradio.load_chat(base_url, model="doorward", token=token, streaming=True)
_, url, _ = chat.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
client = Client(url, verbose=False)
message = {"text": "hello", "files": []}
parts = list(client.submit(message, api_name="/open_api_stream"))
equal("reply", parts[-1], "you said hello")
equal("stream", len(parts) > 1, True)
done()
