// Files inside requests of the protocols become stored files of the session.
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { sha256Of } from "../../../plugins/protocols/files.ts";
import { program } from "../../../plugins/program/index.ts";
import type { MediaFiles } from "../../../plugins/media/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../../support/protocol-service.ts";

const text = "%PDF-1.7 text";
const base64 = Buffer.from(text).toString("base64");
const dataUrl = `data:application/pdf;base64,${base64}`;
const pixel = "data:image/png;base64,iVBORw0KGgo=";

async function start(
  media: object | null = {},
  open?: (bytes: Buffer) => void,
  applicationPlugin?: AnyPlugin,
  config: object = {},
) {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const service = await startProtocols({
    home,
    config,
    ...(media && { media }),
    ...(applicationPlugin && { applicationPlugin }),
  });
  service.state.handler = async (message) => {
    for (const each of message.media)
      if (each.open) open?.(await buffer(Readable.from(await each.open())));
    await message.reply({ content: "ok" });
  };
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  return service;
}

type Door = "openai" | "ai_sdk" | "ag_ui";

async function post(
  { origin }: ProtocolService,
  door: Door,
  path: string,
  body: object,
  headers: Record<string, string> = {},
) {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens[door]}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const chat = (content: object[], more: object[] = []) => ({
  model: "doorward",
  messages: [...more, { role: "user", content }],
});
const inSession = { "x-doorward-session": "s" };
const filePart = { type: "file", file: { file_data: dataUrl, filename: "a.pdf" } };

const stored = {
  type: "application/pdf",
  id: expect.stringMatching(/^m_[0-9a-f]{48}$/),
  size: text.length,
  sha256: expect.any(String),
  url: expect.stringContaining("/pico/media/m_"),
  open: expect.any(Function),
};

describe("file in a request", () => {
  const cases: [string, Door, string, object, string][] = [
    ["OpenAI chat", "openai", "/v1/chat/completions", chat([filePart]), "a.pdf"],
    [
      "OpenAI response",
      "openai",
      "/v1/responses",
      {
        model: "doorward",
        input: [
          {
            role: "user",
            content: [{ type: "input_file", file_data: dataUrl, filename: "a.pdf" }],
          },
        ],
      },
      "a.pdf",
    ],
    [
      "AI SDK",
      "ai_sdk",
      "/ai/chat",
      {
        id: "c",
        messages: [
          {
            id: "1",
            role: "user",
            parts: [
              { type: "file", mediaType: "application/pdf", url: dataUrl, filename: "a.pdf" },
            ],
          },
        ],
      },
      "a.pdf",
    ],
    [
      "AG-UI document",
      "ag_ui",
      "/ag-ui",
      agUi({
        type: "document",
        source: { type: "data", value: base64, mimeType: "application/pdf" },
      }),
      "file",
    ],
    [
      "AG-UI binary",
      "ag_ui",
      "/ag-ui",
      agUi({ type: "binary", mimeType: "application/pdf", data: base64, filename: "a.pdf" }),
      "a.pdf",
    ],
  ];

  test.each(cases)("reaches the application from %s", async (_, door, path, body, filename) => {
    const opened: string[] = [];
    const service = await start({}, (bytes) => opened.push(bytes.toString()));
    expect((await post(service, door, path, body)).status).toBe(200);
    expect(service.received[0]!.media).toEqual([{ ...stored, filename }]);
    expect(opened).toEqual([text]);
  });

  test("keeps images inside the message", async () => {
    const service = await start();
    const content = [{ type: "image_url", image_url: { url: pixel } }];
    await post(service, "openai", "/v1/chat/completions", chat(content));
    expect(service.received[0]!.media).toEqual([{ type: "image/png", bytes: expect.anything() }]);
  });

  test("accepts audio in the form of OpenAI", async () => {
    const service = await start();
    const part = { type: "input_audio", input_audio: { data: base64, format: "wav" } };
    expect((await post(service, "openai", "/v1/chat/completions", chat([part]))).status).toBe(200);
    expect(service.received[0]!.media).toMatchObject([
      { type: "audio/wav", filename: "audio.wav" },
    ]);
  });

  test("keeps its id if each request repeats it", async () => {
    const service = await start();
    const path = "/v1/chat/completions";
    await post(service, "openai", path, chat([filePart]), inSession);
    const earlier = { role: "user", content: [filePart] };
    const more = [{ type: "text", text: "more" }];
    await post(service, "openai", path, chat(more, [earlier]), inSession);
    const [first, second] = service.received;
    const { id } = first!.media[0]!;
    expect(second!.previous![0]!.media).toEqual([{ ...stored, id, filename: "a.pdf" }]);
  });

  test("reaches a program as a path, also from an earlier turn", async () => {
    const script = `
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, payload } = JSON.parse(line);
        const [file] = payload.previous[0].media;
        const content = file.filename + " " + require("node:fs").readFileSync(file.path, "utf8");
        const reply = { type: "message.create", payload: { request_id: id, content } };
        process.stdout.write(JSON.stringify(reply) + "\\n");
      });`;
    const command = [process.execPath, "-e", script] as const;
    const service = await start({}, undefined, program({ command, env: {} }) as AnyPlugin);
    const body = chat([{ type: "text", text: "more" }], [{ role: "user", content: [filePart] }]);
    const { text: answer } = await post(service, "openai", "/v1/chat/completions", body);
    expect(JSON.parse(answer)).toMatchObject({
      choices: [{ message: { content: `a.pdf ${text}` } }],
    });
  });

  test("makes the same message if the request is repeated", async () => {
    const service = await start();
    const message = { id: "1", role: "user", parts: [{ ...aiPart }] };
    const body = { id: "c", messages: [message] };
    expect((await post(service, "ai_sdk", "/ai/chat", body)).status).toBe(200);
    expect((await post(service, "ai_sdk", "/ai/chat", body)).status).toBe(200);
    expect(service.received).toHaveLength(1);
  });
});

const aiPart = { type: "file", mediaType: "application/pdf", url: dataUrl };

function agUi(part: object) {
  return { threadId: "t", runId: "r", messages: [{ id: "1", role: "user", content: [part] }] };
}

describe("file of an answer", () => {
  async function startSending() {
    const service = await start();
    const files = (service.kernel.services as unknown as { media: MediaFiles }).media;
    service.state.handler = async (message) => {
      const bytes = Readable.from([Buffer.from("a,b")]);
      const { id } = await files.put(message, bytes, { contentType: "text/csv" });
      await message.reply({
        content: "done",
        attachments: [{ id, type: "text/csv", filename: "a.csv", size: 3 }],
      });
    };
    return service;
  }
  const idIn = (text: string): string => /\/files\/(m_[0-9a-f]{48})/.exec(text)?.[1] ?? "";

  test("reaches OpenAI clients as a link", async () => {
    const service = await startSending();
    const body = chat([{ type: "text", text: "go" }]);
    const { text: answer } = await post(service, "openai", "/v1/chat/completions", body);
    expect(answer).toContain(`[a.csv](/v1/files/${idIn(answer)}/content)`);
  });

  test("reaches the AI SDK as a part, also in the conversation", async () => {
    const service = await startSending();
    const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "go" }] }];
    const { text: answer } = await post(service, "ai_sdk", "/ai/chat", { id: "c", messages });
    const url = `/ai/files/${idIn(answer)}`;
    const part = { type: "file", url, mediaType: "text/csv" };
    expect(answer).toContain(JSON.stringify(part));
    const address = `${service.origin}/ai/chat/c/messages`;
    const headers = { authorization: `Bearer ${tokens.ai_sdk}` };
    const history = await (await fetch(address, { headers })).text();
    expect(history).toContain(JSON.stringify({ ...part, filename: "a.csv" }));
  });

  test("reaches AG-UI clients as an event", async () => {
    const service = await startSending();
    const body = agUi({ type: "text", text: "go" });
    const { text: answer } = await post(service, "ag_ui", "/ag-ui", body);
    const url = `/ag-ui/files/${idIn(answer)}`;
    expect(answer).toContain(`"type":"text/csv","url":"${url}","filename":"a.csv"`);
  });

  const textPart = { type: "text", text: "go" };
  const doors: [Door, string, object, (id: string) => string][] = [
    ["openai", "/v1/chat/completions", chat([textPart]), (id) => `/v1/files/${id}/content`],
    [
      "ai_sdk",
      "/ai/chat",
      { id: "c", messages: [{ id: "1", role: "user", parts: [textPart] }] },
      (id) => `/ai/files/${id}`,
    ],
    ["ag_ui", "/ag-ui", agUi(textPart), (id) => `/ag-ui/files/${id}`],
  ];

  test.each(doors)(
    "reaches %s as a download, with its own token",
    async (door, path, body, addressOf) => {
      const service = await startSending();
      const { text: answer } = await post(service, door, path, body);
      const address = service.origin + addressOf(idIn(answer));
      const get = (headers = {}, method = "GET", token = tokens[door]) =>
        fetch(address, { method, headers: { authorization: `Bearer ${token}`, ...headers } });
      const whole = await get();
      expect([whole.status, await whole.text()]).toEqual([200, "a,b"]);
      expect(whole.headers.get("content-disposition")).toContain("attachment");
      expect(whole.headers.get("content-security-policy")).toContain("sandbox");
      const part = await get({ range: "bytes=1-", "if-range": whole.headers.get("etag")! });
      expect([part.status, await part.text()]).toEqual([206, ",b"]);
      const head = await get({}, "HEAD");
      expect([head.status, head.headers.get("content-length")]).toEqual([200, "3"]);
      expect((await get({}, "GET", tokens.pico)).status).toBe(401);
      expect((await get({}, "DELETE")).status).toBe(405);
    },
  );

  test.each(doors)("stays unknown to %s in sessions of others", async (door, _, __, addressOf) => {
    const service = await start();
    const { media } = service.kernel.services as unknown as { media: MediaFiles };
    const get = async (id: string) => {
      const headers = { authorization: `Bearer ${tokens[door]}` };
      const response = await fetch(service.origin + addressOf(id), { headers });
      return { status: response.status, text: await response.text() };
    };
    const none = await get(`m_${"0".repeat(48)}`);
    expect(none.status).toBe(404);
    for (const session of ["s", "other/s"]) {
      const { id } = await media.put(
        { channel: "pico", session },
        Readable.from([Buffer.from("a")]),
      );
      expect(await get(id)).toEqual(none);
    }
  });
});

describe("rejected file", () => {
  test("has a limit on its size", async () => {
    const service = await start({ max_file_mb: 1 });
    const url = `data:application/pdf;base64,${Buffer.alloc(1024 * 1024 + 3).toString("base64")}`;
    const part = { type: "file", file: { file_data: url } };
    const { status, text: body } = await post(
      service,
      "openai",
      "/v1/chat/completions",
      chat([part]),
    );
    expect([status, JSON.parse(body)]).toMatchObject([413, { error: { code: "file_too_large" } }]);
    expect(service.received).toEqual([]);
  });

  const large = `data:application/pdf;base64,${Buffer.alloc(1024 * 1024 + 3).toString("base64")}`;
  const largeImage = large.replace("application/pdf", "image/png");
  const ai = (mediaType: string, url: string) => ({
    id: "c",
    messages: [{ id: "1", role: "user", parts: [{ type: "file", mediaType, url }] }],
  });

  test.each([
    ["openai", "/v1/chat/completions", chat([{ type: "file", file: { file_data: large } }])],
    [
      "openai",
      "/v1/chat/completions",
      chat([{ type: "image_url", image_url: { url: largeImage } }]),
    ],
    ["ai_sdk", "/ai/chat", ai("application/pdf", large)],
    ["ai_sdk", "/ai/chat", ai("image/png", largeImage)],
    [
      "ag_ui",
      "/ag-ui",
      agUi({ type: "binary", mimeType: "application/pdf", data: large.split(",")[1]! }),
    ],
  ] as const)("exceeds what requests may contain (%s %s)", async (name, path, body) => {
    const service = await start({}, undefined, undefined, { max_inline_mb: 1 });
    const { status, text: reply } = await post(service, name, path, body);
    expect([status, reply]).toEqual([413, expect.stringContaining("file_too_large")]);
    expect(reply).toContain(name === "openai" ? "POST /v1/files" : "max_inline_mb");
    expect(service.received).toEqual([]);
  });

  test("disappears from an earlier message", async () => {
    const service = await start({}, undefined, undefined, { max_inline_mb: 1 });
    const parts = [
      { type: "file", file: { file_data: large } },
      { type: "text", text: "see" },
    ];
    const messages = [
      { role: "user", content: parts },
      { role: "assistant", content: "seen" },
      { role: "user", content: "and?" },
    ];
    const body = { model: "doorward", messages };
    expect((await post(service, "openai", "/v1/chat/completions", body)).status).toBe(200);
    expect(service.received.at(-1)!.previous?.[0]).toEqual({
      role: "user",
      content: "see",
    });
  });

  test("has a limit per session", async () => {
    const service = await start({ max_files: 1 });
    const other = { ...aiPart, url: `data:text/plain;base64,${base64.slice(4)}` };
    const body = { id: "c", messages: [{ id: "1", role: "user", parts: [aiPart, other] }] };
    const { status, text: answer } = await post(service, "ai_sdk", "/ai/chat", body);
    expect([status, JSON.parse(answer)]).toMatchObject([507, { error: "media_full" }]);
    expect(service.received).toEqual([]);
  });

  test.each(["a b", "data:application/pdf;base64,", "data:;base64,!!!!", "https://example.com/a"])(
    "lacks base64: %s",
    async (file_data) => {
      const service = await start();
      const part = { type: "file", file: { file_data } };
      const reply = await post(service, "openai", "/v1/chat/completions", chat([part]));
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([
        400,
        { error: { code: "invalid_file", param: "messages[0].content[0].file.file_data" } },
      ]);
    },
  );

  test("belongs to another session", async () => {
    const service = await start();
    const path = "/v1/chat/completions";
    await post(service, "openai", path, chat([filePart]), inSession);
    const { id } = service.received[0]!.media[0]!;
    for (const file_id of [id, `m_${"0".repeat(48)}`, "file-1"]) {
      const reply = await post(
        service,
        "openai",
        path,
        chat([{ type: "file", file: { file_id } }]),
      );
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([
        404,
        { error: { code: "unknown_media" } },
      ]);
    }
  });

  test("needs the plugin media", async () => {
    const service = await start(null);
    const reply = await post(service, "openai", "/v1/chat/completions", chat([filePart]));
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([
      400,
      { error: { code: "unsupported_value", param: "messages[0].content[0].type" } },
    ]);
    const body = { id: "c", messages: [{ id: "1", role: "user", parts: [aiPart] }] };
    expect((await post(service, "ai_sdk", "/ai/chat", body)).status).toBe(400);
  });
});

describe("large file", () => {
  test("takes many turns of the loop to hash", async () => {
    const bytes = Buffer.alloc(4 * 1024 * 1024, "a");
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const digest = await sha256Of(bytes);
    isDone = true;
    expect(digest).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(turns).toBeGreaterThanOrEqual(15);
  });
});
