// A scripted agent of the Agent Client Protocol. Each line of a prompt is a step: a word and JSON.
// `AGENT` has what it is: capabilities, modes, errors. It tells on standard error what it receives.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const is = JSON.parse(process.env.AGENT ?? "{}");
const write = (line) => process.stdout.write(`${line}\n`);
const send = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }));
const tell = (what) => process.stderr.write(`${what}\n`);
const waiting = new Map();
const runs = new Map();
let lastId = 0;
let sessions = 0;

const request = (method, params) =>
  new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    send({ id: lastId, method, params });
  });
const update = (sessionId, fields) =>
  send({ method: "session/update", params: { sessionId, update: fields } });
const text = (sessionId, words, messageId) =>
  update(sessionId, {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: words },
    ...(messageId && { messageId }),
  });
const standardOptions = [
  ["once", "Allow once", "allow_once"],
  ["always", "Always allow", "allow_always"],
  ["no", "Reject", "reject_once"],
].map(([optionId, name, kind]) => ({ optionId, name, kind }));

/** The steps of prompts. */
const steps = {
  text: ({ sessionId }, words) => text(sessionId, words),
  chunk: ({ sessionId }, { words, id }) => text(sessionId, words, id),
  update: ({ sessionId }, fields) => update(sessionId, fields),
  raw: (_, line) => write(line),
  async ask({ sessionId }, { toolCall, options = standardOptions }) {
    const answer = await request("session/request_permission", { sessionId, toolCall, options });
    tell(`answer ${JSON.stringify(answer)}`);
    text(sessionId, JSON.stringify(answer.outcome ?? answer));
  },
  async withdraw({ sessionId }, toolCall) {
    const asked = request("session/request_permission", {
      sessionId,
      toolCall,
      options: standardOptions,
    });
    const requestId = lastId;
    setTimeout(() => send({ method: "$/cancel_request", params: { requestId } }), 100);
    text(sessionId, JSON.stringify(await asked));
  },
  async form({ sessionId }, fields) {
    text(sessionId, JSON.stringify(await request("elicitation/create", { sessionId, ...fields })));
  },
  call: async ({ sessionId }, method) =>
    text(sessionId, JSON.stringify(await request(method, { sessionId }))),
  /** Goes on until the turn is cancelled. */
  work: async (run) => {
    for (let at = 0; !run.isCancelled; at += 1) {
      text(run.sessionId, `${at} `);
      await new Promise((done) => setTimeout(done, 10));
    }
  },
  cancelled: (run) => new Promise((resolve) => void (run.cancel = resolve)),
  deaf: () => new Promise(() => undefined),
  many: async ({ sessionId }, count) => {
    for (let at = 0; at < count; at += 1) {
      const toolCall = { toolCallId: `many${at}`, title: `Step ${at}`, kind: "execute" };
      await request("session/request_permission", {
        sessionId,
        toolCall,
        options: standardOptions,
      });
    }
    text(sessionId, `asked ${count}`);
  },
  long: (_, length) => write("x".repeat(length)),
  /** Changes of files, each a step of its own. */
  diffs({ sessionId }, { count, length }) {
    for (let at = 0; at < count; at += 1)
      update(sessionId, {
        sessionUpdate: "tool_call",
        toolCallId: `diff${at}`,
        title: `Edit ${at}`,
        kind: "edit",
        status: "completed",
        content: [{ type: "diff", path: `/w/${at}`, oldText: "", newText: "x".repeat(length) }],
      });
  },
  exit: (_, code) => process.exit(code),
  /** Ends in the middle of a line. */
  cut: ({ sessionId }, length) => {
    const line = JSON.stringify({
      jsonrpc: "2.0",
      method: "session/update",
      params: {
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "é" } },
      },
    });
    process.stdout.write(Buffer.from(line).subarray(0, length), () => process.exit(0));
    return new Promise(() => undefined);
  },
  end: (run, reason) => void (run.reason = reason),
  late: (run, words) => void (run.late = words),
};

async function prompt(id, { sessionId, prompt: parts }) {
  const run = { sessionId, isCancelled: false, reason: "end_turn", cancel: () => undefined };
  runs.set(sessionId, run);
  const said = parts.map((part) => part.text ?? JSON.stringify(part)).join("\n");
  for (const line of said.split("\n")) {
    const [, word, rest] = /^(\w+) (.+)$/.exec(line) ?? [];
    if (run.isCancelled) break;
    if (word in steps) await steps[word](run, JSON.parse(rest));
    else text(sessionId, line);
  }
  runs.delete(sessionId);
  const stopReason = run.isCancelled ? "cancelled" : run.reason;
  send({ id, result: { stopReason, usage: { inputTokens: 10, outputTokens: 5 } } });
  if (run.late) text(sessionId, run.late, "late");
}

const described = () => ({
  ...(is.modes && {
    modes: {
      currentModeId: is.modes[0],
      availableModes: is.modes.map((mode) => ({ id: mode, name: mode })),
    },
  }),
  ...(is.configOptions && { configOptions: is.configOptions }),
});

const description = () => ({
  protocolVersion: is.version ?? 1,
  agentInfo: { name: "scripted", title: "Scripted agent", version: "2.0" },
  agentCapabilities: {
    loadSession: is.load ?? false,
    promptCapabilities: { image: is.image ?? false },
    sessionCapabilities: is.resume ? { resume: {} } : {},
  },
  authMethods: is.authMethods ?? [],
});

const commands = (sessionId) =>
  update(sessionId, {
    sessionUpdate: "available_commands_update",
    availableCommands: [{ name: "plan", description: "Makes a plan", input: { hint: "what" } }],
  });

const methods = {
  async initialize() {
    await new Promise((done) => setTimeout(done, is.startMs ?? 0));
    return description();
  },
  async "session/new"() {
    if (is.newError) throw is.newError;
    if (is.blocks && runs.size > 0) await new Promise(() => undefined);
    sessions += 1;
    const sessionId = `s${process.pid}-${sessions}`;
    commands(sessionId);
    return { sessionId, ...described() };
  },
  "session/load"({ sessionId }) {
    if (is.forgets) throw { code: -32002, message: "no such session" };
    text(sessionId, "an old reply");
    return described();
  },
  "session/resume": () => described(),
  "session/set_mode": () => ({}),
  "session/set_config_option": () => ({ configOptions: is.configOptions }),
};

async function receive(message) {
  const { id, method, params } = message;
  if (method === undefined) {
    const resolve = waiting.get(id);
    waiting.delete(id);
    return resolve?.(message.result ?? { error: message.error });
  }
  tell(`got ${method} ${JSON.stringify(params).slice(0, 200)}`);
  if (method === "session/prompt") {
    if (runs.has(params.sessionId)) return send({ id, error: { code: -32600, message: "busy" } });
    if (is.promptError) return send({ id, error: is.promptError });
    return prompt(id, params);
  }
  if (method === "session/cancel") {
    const run = runs.get(params.sessionId);
    if (!run) return tell("nothing to cancel");
    run.isCancelled = true;
    return run.cancel();
  }
  try {
    send({ id, result: await methods[method](params) });
  } catch (error) {
    send({ id, error });
  }
}

if (is.text) write(is.text);
if (is.exits !== undefined) {
  tell(is.says ?? "");
  process.exit(is.exits);
}
if (!is.silent)
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      if (is.frames) appendFileSync(is.frames, `${line}\n`);
      void receive(JSON.parse(line));
    })
    .on("close", () => process.exit(0));
