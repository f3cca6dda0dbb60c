// Runs the npm package @agentclientprotocol/sdk as an editor: one JSON command per line.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const state = { choose: null, updates: [], permissions: [], withdrawn: 0 };
let agent;
let child;

const app = client({ name: "doorward-test" })
  .onNotification(methods.client.session.update, ({ params }) => {
    state.updates.push(params.update);
  })
  .onRequest(methods.client.session.requestPermission, ({ params, signal }) => {
    state.permissions.push(params.toolCall.title);
    process.stdout.write(`${JSON.stringify({ event: "permission" })}\n`);
    if (state.choose) return { outcome: { outcome: "selected", optionId: state.choose } };
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        state.withdrawn += 1;
        resolve({ outcome: { outcome: "cancelled" } });
      });
    });
  });

const operations = {
  start({ command: [program, ...args] }) {
    child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    agent = app.connect(stream).agent;
    return agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  },
  new: () => agent.request(methods.agent.session.new, { cwd: "/project", mcpServers: [] }),
  load: ({ sessionId }) =>
    agent.request(methods.agent.session.load, { sessionId, cwd: "/project", mcpServers: [] }),
  resume: ({ sessionId }) =>
    agent.request(methods.agent.session.resume, { sessionId, cwd: "/project", mcpServers: [] }),
  prompt({ sessionId, text, choose }) {
    state.choose = choose;
    const prompt = [{ type: "text", text }];
    return agent.request(methods.agent.session.prompt, { sessionId, prompt });
  },
  cancel: ({ sessionId }) => agent.notify(methods.agent.session.cancel, { sessionId }),
  end() {
    child.kill();
  },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, op, ...rest } = JSON.parse(line);
  let result;
  try {
    result = await operations[op](rest);
  } catch (error) {
    result = { error: error.message };
  }
  const { updates, permissions, withdrawn } = state;
  process.stdout.write(`${JSON.stringify({ id, result, updates, permissions, withdrawn })}\n`);
});
