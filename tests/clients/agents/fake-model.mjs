// A language model that follows the words of the prompt, in the forms of three vendors. "run-tool"
// calls the shell once, "slow" writes for ten seconds, and everything else is answered in one line.
import { once } from "node:events";
import { createServer } from "node:http";

const command = "echo hello > out.txt";
const greeting = "Hello from the model.";
const pauseMs = 100;
let calls = 0;
let lastCall = {};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Finds out what to do from the last message, and whether it has the result of a tool. */
function decide(said, { isResult, tools }) {
  if (!isResult && said.includes("run-tool") && tools.length > 0) return "tool";
  return !isResult && said.includes("slow") ? "slow" : "text";
}

const events = (response) => (name, data) =>
  response.write(`${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`);

/** Writes the answer as parts. */
async function* parts(what, response, done = "Done.") {
  if (what === "slow")
    for (let at = 0; at < 100 && !response.destroyed; at += 1) {
      yield `${at} `;
      await sleep(pauseMs);
    }
  yield what === "text-after-tool" ? done : greeting;
}

async function openai(body, response) {
  const send = events(response);
  const last = body.messages?.at(-1) ?? {};
  const tools = (body.tools ?? []).map((tool) => tool.function.name);
  const what = decide(JSON.stringify(last.content ?? ""), {
    isResult: last.role === "tool",
    tools: tools.filter((name) => name === "bash"),
  });
  const chunk = (delta, finish_reason = null) =>
    send("", {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "fake",
      choices: [{ index: 0, delta, finish_reason }],
    });
  if (what === "tool") {
    const call = { name: "bash", arguments: JSON.stringify({ command, description: "Write it" }) };
    const id = `call_${body.messages.length}`;
    chunk({ role: "assistant", tool_calls: [{ index: 0, id, type: "function", function: call }] });
    chunk({}, "tool_calls");
  } else {
    for await (const content of parts(what, response)) chunk({ role: "assistant", content });
    chunk({}, "stop");
  }
  response.end("data: [DONE]\n\n");
}

async function messages(body, response) {
  const send = events(response);
  const last = body.messages?.at(-1) ?? {};
  const content = Array.isArray(last.content) ? last.content : [{ text: last.content }];
  // The message has the results of all calls since the last answer, before its text.
  const newest = content.at(-1) ?? {};
  const isAnswered = content.some((item) => item.tool_use_id === lastCall.id);
  const what = decide(JSON.stringify(newest.text ?? ""), {
    isResult: isAnswered && (newest.text ?? lastCall.text) === lastCall.text,
    tools: (body.tools ?? []).filter(({ name }) => name === "Bash"),
  });
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: "m", type: "message", role: "assistant", model: body.model, content: [] };
  if (body.stream !== true) {
    const text = [{ type: "text", text: greeting }];
    return response.end(
      JSON.stringify({ ...message, content: text, stop_reason: "end_turn", usage }),
    );
  }
  send("message_start", { type: "message_start", message: { ...message, usage } });
  const start = (content_block) =>
    send("content_block_start", { type: "content_block_start", index: 0, content_block });
  const delta = (value) =>
    send("content_block_delta", { type: "content_block_delta", index: 0, delta: value });
  if (what === "tool") {
    lastCall = { id: `toolu_${(calls += 1)}`, text: newest.text };
    start({ type: "tool_use", id: lastCall.id, name: "Bash", input: {} });
    const input = { command, description: "Write it" };
    delta({ type: "input_json_delta", partial_json: JSON.stringify(input) });
  } else {
    start({ type: "text", text: "" });
    for await (const text of parts(what, response)) delta({ type: "text_delta", text });
  }
  send("content_block_stop", { type: "content_block_stop", index: 0 });
  const stop_reason = what === "tool" ? "tool_use" : "end_turn";
  send("message_delta", { type: "message_delta", delta: { stop_reason }, usage });
  send("message_stop", { type: "message_stop" });
  response.end();
}

async function generate(body, response, path) {
  const isStream = path.includes("streamGenerateContent");
  const last = body.contents?.at(-1) ?? {};
  const items = last.parts ?? [];
  const tools = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const what = decide(JSON.stringify(items.map(({ text }) => text)), {
    isResult: items.some((item) => item.functionResponse),
    tools: tools.filter(({ name }) => name === "run_shell_command"),
  });
  const wrap = (part, finishReason) => ({
    candidates: [
      {
        content: { role: "model", parts: [part] },
        index: 0,
        ...(finishReason && { finishReason }),
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  });
  if (!isStream || body.generationConfig?.responseJsonSchema) {
    // A small model chooses the large one.
    const text = JSON.stringify({
      reasoning: "simple",
      model_choice: "flash",
      complexity_score: 1,
    });
    return response.end(JSON.stringify(wrap({ text }, "STOP")));
  }
  const send = (data) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  if (what === "tool") {
    const args = { command, description: "Write it" };
    send(wrap({ functionCall: { name: "run_shell_command", args } }, "STOP"));
  } else {
    for await (const text of parts(what, response)) send(wrap({ text }));
    send(wrap({ text: "" }, "STOP"));
  }
  response.end();
}

/** @returns The address of the model, and a function that stops it. */
export async function startModel() {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => void (text += part));
    request.on("end", async () => {
      const path = request.url ?? "";
      let body = {};
      try {
        body = JSON.parse(text);
      } catch {
        // a request without a body
      }
      const isStream = body.stream === true || path.includes("stream");
      response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
      if (path.includes("count_tokens")) return response.end('{"input_tokens":10}');
      if (path.includes(":countTokens")) return response.end('{"totalTokens":10}');
      if (path.includes("enerateContent")) return generate(body, response, path);
      if (path.includes("/messages")) return messages(body, response);
      if (path.includes("/chat/completions")) return openai(body, response);
      return response.writeHead(404).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
