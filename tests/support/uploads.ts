// A server with conversations and files whose home outlives it, and requests of tus 1.0.
import { mkdtemp } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKernel } from "../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { application, channels } from "../../plugins/channels/index.ts";
import { conversations, sqlite, type Conversations } from "../../plugins/conversations/index.ts";
import { http } from "../../plugins/http/index.ts";
import { media } from "../../plugins/media/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { memory } from "../../plugins/token-store/index.ts";
import { filesBelow } from "./media-server.ts";
import { token } from "./pico-server-harness.ts";

export interface UploadServerOptions {
  readonly home?: string;
  readonly section?: Record<string, unknown>;
  readonly form?: TokenBackend;
}

export const newUploadHome = (): Promise<string> => mkdtemp(join(tmpdir(), "doorward-uploads-"));

const encode = (value: string): string => Buffer.from(value).toString("base64");

/** Starts a server with a stopped clock; `wrongMs` is what its time of day is wrong by. */
export async function startUploadServer(options: UploadServerOptions = {}) {
  const home = options.home ?? (await newUploadHome());
  const clock = createStoppedClock();
  clock.set(Date.now());
  const system = {
    wrongMs: 0,
    now: (): number => clock.now() + system.wrongMs,
    monotonic: () => clock.monotonic(),
    setTimeout: clock.setTimeout.bind(clock),
    clearTimeout: clock.clearTimeout.bind(clock),
  };
  const { log } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(options.form ?? memory({ pico: token })),
      conversations({ store: sqlite({ path: join(home, "conversations.db") }) }),
      media({ home }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      application((message) => void message.reply({ content: "ok" })),
    ],
    {
      clock: system,
      log,
      config: {
        media: options.section ?? {},
        "channels.pico": { enabled: true, drain_timeout: 0, message_rate: 1_000 },
      },
    },
  );
  await kernel.start();
  const { services } = kernel;
  const base = `http://127.0.0.1:${services.http.addresses()[0]!.port}`;
  const ask = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: Uint8Array | string,
  ): Promise<Response> =>
    fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "tus-resumable": "1.0.0", ...headers },
      ...(body !== undefined && { body: body as BodyInit }),
    });
  return {
    home,
    base,
    clock,
    system,
    kernel,
    history: services.conversations as Conversations,
    files: services.media,
    ask,
    /** Begins an upload, and returns its path. */
    async begin(size: number, name = "a.txt", session = "s", more: Record<string, string> = {}) {
      const headers = {
        "upload-length": String(size),
        "upload-metadata": `filename ${encode(name)},filetype ${encode("text/plain")}`,
        ...more,
      };
      const response = await ask("POST", `/pico/media?session_id=${session}`, headers);
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
      return response.headers.get("location")!;
    },
    append: (path: string, offset: number, body: Uint8Array | string, more = {}) =>
      ask(
        "PATCH",
        path,
        {
          "content-type": "application/offset+octet-stream",
          "upload-offset": String(offset),
          ...more,
        },
        body,
      ),
    async offset(path: string): Promise<number | undefined> {
      const { status, headers } = await ask("HEAD", path);
      return status === 200 ? Number(headers.get("upload-offset")) : undefined;
    },
    /** Begins to send bytes, and sends the rest, or breaks the connection later. */
    open(path: string, offset: number, more: Record<string, string> = {}) {
      const sending = request(base + path, {
        method: "PATCH",
        headers: {
          authorization: `Bearer ${token}`,
          "tus-resumable": "1.0.0",
          "content-type": "application/offset+octet-stream",
          "upload-offset": String(offset),
          ...more,
        },
      });
      const ended = new Promise<number>((resolve) => {
        sending.on("response", (response) => resolve(response.resume().statusCode ?? 0));
        sending.on("error", () => resolve(0));
      });
      return { sending, ended };
    },
    stored: () => filesBelow(join(home, "state", "media")),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type UploadServer = Awaited<ReturnType<typeof startUploadServer>>;
