// A bare handler of server-sent events, in the form of a chat completion: the least that a token costs.
import { once } from "node:events";
import { createServer } from "node:http";
import process from "node:process";
import { token } from "../settings.mjs";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const [name, count] = JSON.parse(body).messages.at(-1).content.split(" ");
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  if (name === "open") return void response.write("data: {}\n\n");
  for (let at = 0; at < Number(count); at += 1) {
    const choices = [{ index: 0, delta: { content: token }, logprobs: null, finish_reason: null }];
    const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, choices };
    if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) await once(response, "drain");
  }
  response.end("data: [DONE]\n\n");
});
server.listen(Number(process.argv[2]), "127.0.0.1");
