// Runs calls of the OpenAI library for Node: one JSON object per line in, one per line out. The
// first argument names the package.
import { createInterface } from "node:readline";

const { default: OpenAI } = await import(process.argv[2]);

const describe = (error) => ({
  error: {
    status: error.status ?? null,
    code: error.code ?? null,
    param: error.param ?? null,
    type: error.type ?? null,
    name: error.constructor.name,
    message: error.message,
  },
});

async function collect(stream, { closeAfter = Infinity, fields }) {
  const found = { text: "", reasoning: "", chunks: 0, roles: [], first: null, usage: null };
  for await (const chunk of stream) {
    found.chunks += 1;
    if (chunk.usage) found.usage = chunk.usage;
    const [choice] = chunk.choices;
    if (!choice) continue;
    found.first ??= choice.delta;
    if (choice.delta.role) found.roles.push(choice.delta.role);
    found.text += choice.delta.content ?? "";
    found.reasoning += choice.delta.reasoning_content ?? "";
    if (choice.finish_reason) found.finish = choice.finish_reason;
    if (choice.delta.tool_calls) found.toolCalls = true;
    Object.assign(fields, found);
    if (found.text.length >= closeAfter) break;
  }
  return found;
}

const whole = ({ choices, usage, id, model }) => ({
  id,
  model,
  text: choices[0].message.content,
  reasoning: choices[0].message.reasoning_content ?? "",
  toolCalls: choices[0].message.tool_calls !== undefined,
  finish: choices[0].finish_reason,
  usage: usage ?? null,
});

const operations = {
  models: async (client) => (await client.models.list()).data,
  model: (client, { model }) => client.models.retrieve(model),
  chat: async (client, { body, options }) => {
    const { data, response } = await client.chat.completions.create(body, options).withResponse();
    const headers = Object.fromEntries(response.headers);
    return { ...whole(data), headers };
  },
  stream: async (client, call, fields) => {
    const body = { ...call.body, stream: true };
    const sent = await client.chat.completions.create(body, call.options);
    return collect(sent, { closeAfter: call.closeAfter, fields });
  },
  helper: async (client, { body, options }) => {
    const runner = client.chat.completions.stream(body, options);
    return whole(await runner.finalChatCompletion());
  },
  tools: async (client, { body, options, results }) => {
    const calls = [];
    const tools = Object.entries(results).map(([name, result]) => ({
      type: "function",
      function: {
        name,
        parameters: { type: "object", properties: {} },
        parse: JSON.parse,
        function(given) {
          calls.push([name, given]);
          return result;
        },
      },
    }));
    const runner = client.chat.completions.runTools({ ...body, tools }, options);
    return { text: await runner.finalContent(), calls };
  },
  response: async (client, { body, options }) => client.responses.create(body, options),
  responseStream: async (client, { body, options }) => {
    const runner = client.responses.stream(body, options);
    const types = [];
    for await (const event of runner) types.push(event.type);
    return { types, final: await runner.finalResponse() };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, op, ...call } = JSON.parse(line);
  const { baseURL, token, headers, retries = 0 } = call;
  const client = new OpenAI({
    baseURL,
    apiKey: token,
    maxRetries: retries,
    defaultHeaders: headers ?? {},
  });
  const fields = {};
  operations[op](client, call, fields)
    .catch((error) => ({ ...fields, ...describe(error) }))
    .then((result) => process.stdout.write(`${JSON.stringify({ id, result })}\n`));
}
