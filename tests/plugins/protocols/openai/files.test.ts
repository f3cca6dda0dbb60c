// POST, GET and DELETE /v1/files.
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HttpOptions } from "../../../../plugins/http/index.ts";
import type { MediaFiles } from "../../../../plugins/media/index.ts";
import { filesBelow } from "../../../support/media-server.ts";
import { startProtocols, tokens } from "../../../support/protocol-service.ts";

const text = "%PDF-1.7 text";

async function start({
  media = {},
  identify,
  config = {},
}: {
  media?: object | null;
  identify?: NonNullable<HttpOptions["identify"]>;
  config?: object;
} = {}) {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const service = await startProtocols({
    home,
    config,
    ...(media && { media }),
    ...(identify && { identify }),
  });
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${tokens.openai}`, ...init.headers };
    const response = await fetch(service.origin + path, { ...init, headers });
    const body = await response.text();
    const json = body.startsWith("{") ? (JSON.parse(body) as Record<string, unknown>) : undefined;
    return { status: response.status, headers: response.headers, text: body, json };
  };
  const pdf = new Blob([text], { type: "application/pdf" });
  const upload = (content: string | Blob = pdf, name = "ä.pdf") => {
    const form = new FormData();
    form.set("purpose", "assistants");
    form.set("file", content instanceof Blob ? new File([content], name, content) : content);
    form.set("expires_after[seconds]", "3600");
    return call("/v1/files", { method: "POST", body: form });
  };
  const say = (file_id: unknown, init: RequestInit = {}) =>
    call("/v1/chat/completions", {
      method: "POST",
      ...init,
      headers: { "content-type": "application/json", ...init.headers },
      body: JSON.stringify({
        model: "doorward",
        messages: [{ role: "user", content: [{ type: "file", file: { file_id } }] }],
      }),
    });
  return { ...service, folder: join(home, "state", "media"), call, upload, say };
}

const unknown = { error: { code: "unknown_media" } };

describe("upload of a file", () => {
  test("describes the file in the form of OpenAI", async () => {
    const { upload, call } = await start();
    const { status, json } = await upload();
    const created = json!["created_at"] as number;
    expect([status, json]).toEqual([
      200,
      {
        id: expect.stringMatching(/^m_[0-9a-f]{48}$/),
        object: "file",
        bytes: text.length,
        created_at: expect.any(Number),
        expires_at: created + 86_400,
        filename: "ä.pdf",
        purpose: "user_data",
        status: "processed",
      },
    ]);
    const id = json!["id"] as string;
    expect((await call(`/v1/files/${id}`)).json).toEqual(json);
    const content = await call(`/v1/files/${id}/content`);
    expect([content.text, content.headers.get("content-disposition")]).toEqual([
      text,
      `attachment; filename="_.pdf"; filename*=UTF-8''%C3%A4.pdf`,
    ]);
  });

  test("makes its id usable in messages of every session", async () => {
    const { upload, say, received } = await start();
    const { json } = await upload();
    for (const session of ["a", "a", "b"])
      expect((await say(json!["id"], { headers: { "x-doorward-session": session } })).status).toBe(
        200,
      );
    const [first, second, third] = received.map(({ media }) => media[0]!);
    expect(first).toMatchObject({ type: "application/pdf", filename: "ä.pdf", size: text.length });
    expect(second!.id).toBe(first!.id);
    expect(third!.id).not.toBe(first!.id);
    expect(first!.id).not.toBe(json!["id"]);
  });

  test("ends with DELETE, and messages keep their file", async () => {
    const { upload, call, say, received } = await start();
    const { json } = await upload();
    const id = json!["id"] as string;
    await say(id);
    expect((await call(`/v1/files/${id}`, { method: "DELETE" })).json).toEqual({
      id,
      object: "file",
      deleted: true,
    });
    for (const reply of [
      await call(`/v1/files/${id}`),
      await call(`/v1/files/${id}/content`),
      await call(`/v1/files/${id}`, { method: "DELETE" }),
      await say(id),
    ])
      expect([reply.status, reply.json]).toMatchObject([404, unknown]);
    const kept = Readable.from(await received[0]!.media[0]!.open!());
    expect((await buffer(kept)).toString()).toBe(text);
  });

  test("belongs to one person, also if the host gives them one session", async () => {
    const identify: NonNullable<HttpOptions["identify"]> = (request) => ({
      id: String(request.headers["x-user"]),
      name: "A person",
      sessions: "all",
    });
    const { origin, say } = await start({ identify });
    const authorization = `Bearer ${tokens.openai}`;
    const form = new FormData();
    form.set("file", new File([text], "a.pdf"));
    const headers = { authorization, "x-user": "ann" };
    const stored = await fetch(`${origin}/v1/files`, { method: "POST", body: form, headers });
    const { id } = (await stored.json()) as { id: string };
    const statusOf = async (user: string, method = "GET") =>
      (
        await fetch(`${origin}/v1/files/${id}`, {
          method,
          headers: { authorization, "x-user": user },
        })
      ).status;
    expect(await statusOf("bob")).toBe(404);
    expect(await statusOf("bob", "DELETE")).toBe(404);
    expect((await say(id, { headers: { "x-user": "bob" } })).status).toBe(404);
    expect((await say(id, { headers: { "x-user": "ann" } })).status).toBe(200);
    expect(await statusOf("ann")).toBe(200);
  });

  test("keeps a file of an answer to the person of its session", async () => {
    const identify: NonNullable<HttpOptions["identify"]> = (request) => ({
      id: String(request.headers["x-user"]),
      name: "A person",
      sessions: "own",
    });
    const { origin, kernel } = await start({ identify });
    const { media } = kernel.services as unknown as { media: MediaFiles };
    const address = { channel: "pico", session: "host:ann/openai/s" };
    const { id } = await media.put(address, Readable.from([Buffer.from(text)]));
    const statusOf = async (user: string) => {
      const headers = { authorization: "Bearer x", "x-user": user };
      return (await fetch(`${origin}/v1/files/${id}/content`, { headers })).status;
    };
    expect([await statusOf("ann"), await statusOf("bob")]).toEqual([200, 404]);
  });
});

describe("parts of a response", () => {
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
  const png = new Blob([Buffer.from(pixel, "base64")], { type: "image/png" });
  async function startAsking() {
    const service = await start();
    const ask = (part: object) =>
      service.call("/v1/responses", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: "doorward", input: [{ role: "user", content: [part] }] }),
      });
    return { ...service, ask };
  }

  test("name an uploaded image by its id", async () => {
    const { upload, ask, received } = await startAsking();
    const { json } = await upload(png, "a.png");
    const reply = await ask({ type: "input_image", file_id: json!["id"] });
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
    expect(received[0]!.media).toMatchObject([{ type: "image/png", size: png.size }]);
  });

  test("carry a file as a data: URL", async () => {
    const { ask, received } = await startAsking();
    const file_url = `data:application/pdf;base64,${Buffer.from(text).toString("base64")}`;
    const reply = await ask({ type: "input_file", file_url, filename: "a.pdf" });
    expect(reply.status).toBe(200);
    const expected = { type: "application/pdf", filename: "a.pdf", size: text.length };
    expect(received[0]!.media).toMatchObject([expected]);
  });

  test("have errors that name the field", async () => {
    const { upload, ask, received } = await startAsking();
    const { json } = await upload();
    const id = json!["id"];
    const place = "input[0].content[0]";
    const remote = "https://127.0.0.1/a.pdf";
    for (const [part, status, error] of [
      [{ type: "input_image", file_id: id }, 400, { code: "invalid_file" }],
      [{ type: "input_image", file_id: "m_1" }, 404, { code: "unknown_media" }],
      [{ type: "input_image", file_id: id, image_url: remote }, 400, { param: place }],
      [{ type: "input_file", file_url: remote }, 400, { param: `${place}.file_url` }],
      [{ type: "input_file", file_url: "data:,a" }, 400, { param: `${place}.file_url` }],
      [{ type: "input_file", file_url: "data:,a", file_id: id }, 400, { param: place }],
    ] as const) {
      const reply = await ask(part);
      expect([part, reply.status, reply.json]).toMatchObject([part, status, { error }]);
    }
    expect(received).toEqual([]);
  });
});

describe("page of another origin", () => {
  const ask = (origin: string) => ({
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "DELETE" },
  });

  test("deletes its file if the origin is allowed", async () => {
    const origin = "https://app.example";
    const { call, upload } = await start({ config: { allow_origins: [origin] } });
    const { json } = await upload();
    const path = `/v1/files/${String(json!["id"])}`;
    const asked = await call(path, ask(origin));
    expect(asked.headers.get("access-control-allow-methods")).toBe("DELETE, GET, HEAD, POST");
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    const deleted = await call(path, { method: "DELETE", headers: { origin } });
    expect(deleted.json).toMatchObject({ deleted: true });
    const other = await call(path, ask("https://other.example"));
    expect([other.status, other.headers.get("access-control-allow-methods")]).toEqual([403, null]);
  });
});

describe("rejected upload", () => {
  test("has no file", async () => {
    const { call, upload } = await start();
    const form = new FormData();
    form.set("purpose", "assistants");
    for (const reply of [
      await call("/v1/files", { method: "POST", body: form }),
      await call("/v1/files", { method: "POST", body: "file=1" }),
      await call("/v1/files", { method: "POST", body: new URLSearchParams({ file: "1" }) }),
      await call("/v1/files", {
        method: "POST",
        body: "x",
        headers: { "content-type": "multipart/form-data" },
      }),
      await call("/v1/files", {
        method: "POST",
        body: `--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\ncut`,
        headers: { "content-type": "multipart/form-data; boundary=b" },
      }),
    ])
      expect([reply.status, reply.json]).toMatchObject([400, { error: { code: "invalid_file" } }]);
    expect((await upload()).status).toBe(200);
  });

  test("exceeds a limit, and leaves nothing behind", async () => {
    const { upload, folder } = await start({ media: { max_file_mb: 1 } });
    const { status, json } = await upload(new Blob([Buffer.alloc(3 * 1024 * 1024)]));
    expect([status, json]).toMatchObject([413, { error: { code: "file_too_large" } }]);
    expect(await filesBelow(folder)).toEqual([]);
  });

  test("ends early, and leaves nothing behind", async () => {
    const { origin, folder, upload } = await start();
    const request = httpRequest(`${origin}/v1/files`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${tokens.openai}`,
        "content-type": "multipart/form-data; boundary=b",
        "content-length": "100000",
      },
    });
    request.on("error", () => undefined);
    request.write(`--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\ncut`);
    await expect.poll(() => filesBelow(folder)).toHaveLength(1);
    request.destroy();
    await expect.poll(() => filesBelow(folder)).toEqual([]);
    expect((await upload()).status).toBe(200);
  });

  test("has no or another token", async () => {
    const { call } = await start();
    const headers = { authorization: `Bearer ${tokens.pico}` };
    expect((await call("/v1/files", { method: "POST", body: "x", headers })).status).toBe(401);
  });

  test("names an address without the plugin media", async () => {
    const { upload, call } = await start({ media: null });
    expect((await upload()).json).toMatchObject({ error: { code: "unknown_url" } });
    expect((await call("/v1/files/m_1")).status).toBe(404);
  });

  test("has another method", async () => {
    const { call } = await start();
    const { status, headers } = await call("/v1/files/m_1", { method: "PUT" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, DELETE, OPTIONS"]);
  });
});
