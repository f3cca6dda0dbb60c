// An editor that talks to `doorward acp` line by line.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createQueue } from "../../testkit/client.ts";
import type { Message } from "../../plugins/channels/index.ts";
import {
  startProtocols,
  tokens,
  type Handler,
  type ServiceOptions,
} from "../support/protocol-service.ts";

export const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

/** A message of JSON-RPC. */
export interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface Update {
  readonly sessionUpdate: string;
  readonly content?: { readonly type: string; readonly text?: string } & readonly unknown[];
  readonly [field: string]: unknown;
}

/** Starts a service with a channel that keeps its history. */
export async function startService(options: ServiceOptions = {}) {
  const home = await mkdtemp(join(tmpdir(), "doorward-acp-"));
  const service = await startProtocols({ home, ...options });
  const tokenFile = join(home, "editor-token");
  await writeFile(tokenFile, tokens.pico);
  const url = `${service.origin.replace("http", "ws")}/pico`;
  return {
    ...service,
    home,
    tokenFile,
    url,
    args: ["acp", "-url", url, "-token-file", tokenFile],
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Starts `doorward acp`. Requests of the agent are answered by `answer`, or not at all. */
export function startEditor(
  args: readonly string[],
  home: string,
  answer: (request: Rpc) => object | undefined = () => undefined,
  serviceHome = join(home, "editor"),
) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, SERVICE_HOME: serviceHome };
  const child = spawn(process.execPath, [program, ...args], { env });
  const lines: string[] = [];
  const updates = createQueue<Update>();
  const requests = createQueue<Rpc>();
  const notifications = createQueue<Rpc>();
  const pending = new Map<number, (reply: Rpc) => void>();
  let errors = "";
  let lastId = 0;
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (errors += text));
  child.stdin.on("error", () => undefined); // The agent has ended.
  const write = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    const message = JSON.parse(line) as Rpc;
    if (message.method === undefined) return pending.get(message.id!)?.(message);
    if (message.method === "session/update")
      return updates.push(message.params!["update"] as Update);
    if (message.id === undefined) return notifications.push(message);
    requests.push(message);
    const result = answer(message);
    if (result) write({ id: message.id, result });
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const request = (method: string, params: object): Promise<Rpc> => {
    const id = (lastId += 1);
    write({ id, method, params });
    return new Promise((resolve) => pending.set(id, resolve));
  };
  return {
    lines,
    updates,
    requests,
    notifications,
    ended,
    errors: () => errors,
    write,
    request,
    notify: (method: string, params: object): void => write({ method, params }),
    reply: (id: number, result: object): void => write({ id, result }),
    /** Sends a text. */
    prompt: (sessionId: unknown, text: string): Promise<Rpc> =>
      request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    /** Initializes the agent and opens a session. */
    async open(clientCapabilities: object = {}): Promise<string> {
      await request("initialize", { protocolVersion: 1, clientCapabilities });
      const { result, error } = await request("session/new", { cwd: "/project", mcpServers: [] });
      if (error) throw new Error(error.message);
      return String(result!["sessionId"]);
    },
    end: (): void => void child.stdin.end(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

const step = {
  id: "call-1",
  name: "edit",
  arguments: '{"path":"a.ts"}',
  title: "Edit a.ts",
  kind: "edit",
  locations: [{ path: "/project/a.ts", line: 2 }],
  details: [{ type: "diff", path: "/project/a.ts", old: "a\n", new: "b\n" }],
} as const;

/** Shows a step with a change, asks, and says what was answered. */
export const asks: Handler = async (message: Message) => {
  const { id } = await message.reply({
    content: "",
    kind: "tool_calls",
    toolCalls: [{ ...step, state: "pending" }],
    final: false,
  });
  const result = await message.ask({
    kind: "approval",
    title: "Edit a.ts",
    content: "May I change it?",
    toolCallId: "call-1",
    options: [
      { id: "once", label: "Allow once", effect: "allow" },
      { id: "always", label: "Allow always", effect: "allow", lasting: true },
      { id: "no", label: "Deny", effect: "deny" },
    ],
  });
  const state = result.effect === "allow" ? "completed" : "failed";
  await message.update(id, { content: "", toolCalls: [{ ...step, state }], final: true });
  await message.reply({ content: `${result.outcome} ${result.option ?? ""} ${result.via ?? ""}` });
};
export const select = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
