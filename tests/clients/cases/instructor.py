# {"client":"instructor","protocol":"openai","packages":["instructor==1.17.0"],"shows":"response_model=None; a model needs a program that writes JSON or calls tools"}
import instructor
from check import base_url, done, equal, token
from openai import OpenAI

client = instructor.from_openai(OpenAI(base_url=base_url, api_key=token, max_retries=0))
messages = [{"role": "user", "content": "hello"}]
reply = client.chat.completions.create(model="gpt-4o", response_model=None, messages=messages)
equal("reply", reply.choices[0].message.content, "you said hello")
done()
