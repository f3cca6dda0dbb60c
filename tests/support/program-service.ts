// Starts a service with all protocols whose application is a program, and plain clients for it.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { program } from "../../plugins/program/index.ts";
import { createQueue } from "../../testkit/client.ts";
import { startProtocols, tokens } from "./protocol-service.ts";
import { createFolder } from "./sqlite-store.ts";

/** Preamble of the programs: `say` writes a line, `each` reads them. */
const prelude = `
const say = (type, payload) => process.stdout.write(JSON.stringify({ type, payload }) + "\\n");
const answer = (m, content, more) => say("message.create", { request_id: m.id, content, ...more });
const each = (take) => require("node:readline").createInterface({ input: process.stdin })
  .on("line", (line) => take(JSON.parse(line)));
`;

export type StoreKind = "memory" | "sqlite";

/** Starts the service with a JavaScript program. */
export async function startProgramService(script: string, store: StoreKind = "memory") {
  const folder = await mkdtemp(join(tmpdir(), "doorward-program-"));
  const file = join(folder, "agent.cjs");
  await writeFile(file, prelude + script);
  const home = store === "sqlite" ? await createFolder() : undefined;
  const env = { PATH: process.env["PATH"] ?? "" };
  const service = await startProtocols({
    applicationPlugin: program({ command: [process.execPath, file], env }),
    ...(home !== undefined && { home }),
  });
  return {
    ...service,
    program: service.kernel.services as unknown as {
      readonly program: { status(): { readonly state: string } };
    },
    /** Opens a plain client, which receives the bytes of each frame. */
    async open(session: string, query = "") {
      const url = `${service.origin.replace("http", "ws")}/pico?session_id=${session}${query}`;
      const headers = { Authorization: `Bearer ${tokens.pico}` };
      const socket = new WebSocket(url, { headers });
      const frames = createQueue<string>();
      socket.on("message", (data) => frames.push(String(data)));
      await once(socket, "open");
      return {
        frames,
        say: (id: string, content: string): void =>
          socket.send(JSON.stringify({ type: "message.send", id, payload: { content } })),
        stop: (id: string): void =>
          socket.send(
            JSON.stringify({ type: "message.stop", id: `s${id}`, payload: { request_id: id } }),
          ),
        close: (): void => socket.terminate(),
      };
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Replaces what differs between two runs: ids, times and epochs. */
export function createNormalizer(): (frame: string) => string {
  const ids = new Map<string, string>();
  const nameOf = (id: string): string => {
    if (!ids.has(id)) ids.set(id, `id-${ids.size + 1}`);
    return ids.get(id)!;
  };
  return (frame) =>
    frame
      .replace(/"(?:timestamp|expires_at)":\d+/g, '"timestamp":0')
      .replace(/"[0-9a-f]{32}"/g, (quoted) => `"${nameOf(quoted)}"`)
      .replace(/"epoch":"[0-9a-f]+"/g, '"epoch":"e"');
}
