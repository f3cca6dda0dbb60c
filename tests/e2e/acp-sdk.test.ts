// Runs the official libraries of the Agent Client Protocol as editors of `doorward acp`, and checks
// the lines of the agent with the published schema.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { createQueue } from "../../testkit/client.ts";
import { optional } from "../support/tools.ts";
import { asks, program, select, startEditor, startService, type Rpc } from "./acp.ts";

const clients = fileURLToPath(new URL("../clients", import.meta.url));
const sdk = join(clients, "node_modules", "@agentclientprotocol", "sdk");
const python = join(clients, ".venv", "bin", "python");
const hasPython = spawnSucceeds(python, ["-c", "import acp"]);

function spawnSucceeds(command: string, args: readonly string[]): boolean {
  return existsSync(command) && spawnSync(command, [...args]).status === 0;
}

const npm = optional(
  existsSync(sdk) ? [process.execPath, join(clients, "acp-driver.mjs")] : undefined,
  "the npm package @agentclientprotocol/sdk (npm ci --prefix tests/clients)",
);
const pip = optional(
  hasPython ? [python, join(clients, "acp-driver.py")] : undefined,
  "the Python package agent-client-protocol (python3 -m venv tests/clients/.venv; " +
    "tests/clients/.venv/bin/pip install -r tests/clients/requirements.txt)",
);

interface Reply {
  readonly id?: number;
  readonly event?: string;
  readonly result: Readonly<Record<string, unknown>>;
  readonly updates: readonly { readonly sessionUpdate: string; readonly content?: unknown }[];
  readonly permissions: readonly string[];
  readonly withdrawn: number;
}

/** Starts a library that starts `doorward acp`. */
async function startLibrary([command, ...args]: readonly string[]) {
  const service = await startService();
  onTestFinished(() => service[Symbol.asyncDispose]());
  service.state.handler = asks;
  const env = { PATH: process.env["PATH"] ?? "", HOME: service.home };
  const child = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"], env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const permissions = createQueue<Reply>();
  const pending = new Map<number, (reply: Reply) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const reply = JSON.parse(line) as Reply;
    if (reply.event) permissions.push(reply);
    else pending.get(reply.id!)?.(reply);
  });
  let lastId = 0;
  const call = (op: string, fields: object = {}): Promise<Reply> => {
    const id = (lastId += 1);
    child.stdin.write(`${JSON.stringify({ id, op, ...fields })}\n`);
    return new Promise((resolve) => pending.set(id, resolve));
  };
  const start = (): Promise<Reply> =>
    call("start", { command: [process.execPath, program, ...service.args] });
  return { service, call, start, permissions };
}

const texts = ({ updates }: Reply): string => JSON.stringify(updates);

describe.each([
  ["npm", npm],
  ["PyPI", pip],
])("the library of %s", (_, driver) => {
  test.skipIf(!driver)("prompts, is asked, loads and resumes", async () => {
    const { call, start } = await startLibrary(driver!);
    expect((await start()).result).toMatchObject({ protocolVersion: 1 });
    const { sessionId } = (await call("new")).result;
    const answered = await call("prompt", { sessionId, text: "go", choose: "once" });
    expect(answered.result).toMatchObject({ stopReason: "end_turn" });
    expect(answered.permissions).toEqual(["Edit a.ts"]);
    expect(texts(answered)).toContain("answered once acp");
    await call("end");
    await start();
    const loaded = await call("load", { sessionId });
    expect(loaded.result).not.toHaveProperty("error");
    const replayed = loaded.updates.slice(answered.updates.length);
    expect(replayed.map(({ sessionUpdate }) => sessionUpdate)).toEqual([
      "user_message_chunk",
      "tool_call",
      "agent_message_chunk",
      "agent_message_chunk",
    ]);
    await call("end");
    await start();
    expect((await call("resume", { sessionId })).result).not.toHaveProperty("error");
    const denied = await call("prompt", { sessionId, text: "again", choose: "no" });
    expect(texts(denied)).toContain("answered no acp");
    await call("end");
  });

  test.skipIf(!driver)("loses a question to another device, and cancels", async () => {
    const { service, call, start, permissions } = await startLibrary(driver!);
    await start();
    const { sessionId } = (await call("new")).result;
    const first = call("prompt", { sessionId, text: "go", choose: null });
    await permissions.next("a question");
    const [{ id }] = service.channels.questions() as unknown as [{ id: string }];
    const address = { channel: "pico", session: String(sessionId) };
    await service.channels.answer(address, id, { option: "once" }, { id: "ann" }, "cli");
    const answered = await first;
    expect(answered.result).toMatchObject({ stopReason: "end_turn" });
    expect(texts(answered)).toContain("answered once cli");
    const second = call("prompt", { sessionId, text: "go", choose: null });
    await permissions.next("another question");
    await call("cancel", { sessionId });
    expect((await second).result).toMatchObject({ stopReason: "cancelled" });
    await call("end");
  });
});

/** @returns A function that lists what is wrong with a line. */
function createCheck() {
  const schema = JSON.parse(
    readFileSync(join(sdk, "schema", "v1", "schema.json"), "utf8"),
  ) as object;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(schema, "acp");
  const results: Readonly<Record<string, string>> = {
    initialize: "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/prompt": "PromptResponse",
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
    error: "Error",
  };
  return (method: string, value: unknown): unknown => {
    const validate = ajv.getSchema(`acp#/$defs/${results[method]}`)!;
    return validate(value) ? undefined : validate.errors;
  };
}

describe.skipIf(!npm)("the published schema", () => {
  test("accepts every line of the agent", async () => {
    const check = createCheck();
    const service = await startService();
    onTestFinished(() => service[Symbol.asyncDispose]());
    const sent = new Map<number, string>();
    const editor = startEditor(service.args, service.home, () => select("once"));
    onTestFinished(() => editor[Symbol.asyncDispose]());
    const call = (method: string, params: object) => {
      sent.set(sent.size + 1, method);
      return editor.request(method, params);
    };
    await call("initialize", { protocolVersion: 1 });
    const { result } = await call("session/new", { cwd: "/project", mcpServers: [] });
    const { sessionId } = result!;
    const prompt = [{ type: "text", text: "go" }];
    service.state.handler = async (message) => {
      await message.reply({ content: "hm", kind: "thought" });
      const entries = [
        { content: "look", state: "completed", priority: "high" },
        { content: "change", state: "failed" },
      ] as const;
      await message.reply({ content: "", kind: "plan", entries });
      await asks(message);
    };
    await call("session/prompt", { sessionId, prompt });
    await call("session/load", { sessionId, cwd: "/project", mcpServers: [] });
    await call("session/list", {});
    await call("session/prompt", { sessionId: "unknown", prompt });
    const wrong = editor.lines.flatMap((line) => {
      const { id, method, params, result: given, error } = JSON.parse(line) as Rpc;
      const name = method ?? (error === undefined ? sent.get(id!)! : "error");
      const problem = check(name, params ?? given ?? error);
      return problem === undefined ? [] : [{ line, problem }];
    });
    expect(wrong).toEqual([]);
    expect(editor.lines.join("\n")).toMatch(/agent_thought_chunk.*"plan".*request_permission/s);
    expect(check("session/prompt", { stopReason: "done" })).toBeDefined();
  });
});
