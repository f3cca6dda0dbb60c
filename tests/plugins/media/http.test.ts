import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { media } from "../../../plugins/media/index.ts";
import { identifiedHost } from "../../support/identified-host.ts";
import { bearer, waitFor } from "../../support/pico-server-harness.ts";
import { png, startMediaServer } from "../../support/media-server.ts";

const sha = (bytes: string | Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

describe("POST /pico/media", () => {
  test("stores a file and returns its description", async () => {
    await using server = await startMediaServer();
    const file = await server.upload("%PDF-1.7 and more text", {
      headers: {
        "content-type": "application/pdf",
        "content-disposition": "attachment; filename*=UTF-8''gr%C3%BC%C3%9Fe.pdf",
      },
    });
    expect(file).toEqual({
      id: expect.stringMatching(/^m_[0-9a-f]{48}$/),
      url: `/pico/media/${file.id}`,
      size: 22,
      sha256: sha("%PDF-1.7 and more text"),
      content_type: "application/pdf",
      filename: "grüße.pdf",
      inline: false,
    });
    const response = await server.request(file.url);
    expect(await response.text()).toBe("%PDF-1.7 and more text");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/pdf",
      "content-disposition": `attachment; filename="gr__e.pdf"; filename*=UTF-8''gr%C3%BC%C3%9Fe.pdf`,
      "content-security-policy": "sandbox; default-src 'none'",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "private, immutable",
      "accept-ranges": "bytes",
      etag: `"${file.sha256}"`,
    });
  });

  test("stores the same content once", async () => {
    await using server = await startMediaServer();
    const [one, other] = [await server.upload("same"), await server.upload("same")];
    expect(one.id).not.toBe(other.id);
    const contents = (await server.stored()).filter((path) => /^..\/[0-9a-f]{64}$/.test(path));
    expect(contents).toEqual([`${one.sha256.slice(0, 2)}/${one.sha256}`]);
  });

  test("rejects a file over the limit by its announced size", async () => {
    await using server = await startMediaServer({}, { max_file_mb: 1 });
    const response = await server.send(new Uint8Array(1024 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: "file_too_large" });
    expect(await server.stored()).toEqual([]);
  });

  test("rejects a file of unknown size while it arrives", async () => {
    await using server = await startMediaServer({}, { max_file_mb: 1 });
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(64 * 1024));
        if (sent === 4_096) controller.close();
      },
    });
    const status = await server.send(body).then(
      (response) => response.status,
      () => 413, // the connection may close before the whole body was sent
    );
    expect(status).toBe(413);
    expect(sent).toBeLessThan(4_096);
    await expect.poll(() => server.stored()).toEqual([]);
  });

  test.each([
    ["max_session_mb", { max_session_mb: 1 }],
    ["max_mb", { max_mb: 1 }],
    ["max_sender_mb", { max_sender_mb: 1 }],
    ["max_files", { max_files: 1 }],
  ])("responds with 507 beyond %s and stores nothing", async (setting, section) => {
    await using server = await startMediaServer({}, section);
    await server.upload(new Uint8Array(600 * 1024));
    const before = await server.stored();
    const response = await server.send(new Uint8Array(600 * 1024));
    expect(response.status).toBe(507);
    const body = (await response.json()) as { error: string; message: string };
    expect(body.error).toBe("media_full");
    expect(body.message).toContain(`media.${setting}`);
    expect(await server.stored()).toEqual(before);
  });

  test("counts the files of earlier runs against the limit", async () => {
    await using server = await startMediaServer({}, { max_files: 2 });
    await server.services.media.put({ channel: "pico", session: "s" }, [Buffer.from("a")] as never);
    await server.upload("b");
    expect((await server.send("c")).status).toBe(507);
    expect((await server.send("c", { session: "other" })).status).toBe(201);
  });

  test("leaves nothing behind when the connection ends early", async () => {
    await using server = await startMediaServer();
    const socket = connect(server.port, "127.0.0.1");
    socket.write(
      `POST /pico/media?session_id=s HTTP/1.1\r\nHost: localhost:${server.port}\r\n${bearer}\r\n` +
        "Content-Length: 1000\r\n\r\nhalf of it",
    );
    await expect.poll(() => server.stored()).toHaveLength(1);
    socket.destroy();
    await expect.poll(() => server.stored()).toEqual([]);
    expect((await server.send("next")).status).toBe(201);
  });

  test("ends an upload that is too slow", async () => {
    await using server = await startMediaServer();
    const socket = connect(server.port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => void (text += chunk.toString()));
    socket.write(
      `POST /pico/media?session_id=s HTTP/1.1\r\nHost: localhost:${server.port}\r\n${bearer}\r\n` +
        "Content-Length: 10000000\r\n\r\nslow",
    );
    await expect.poll(() => server.stored()).toHaveLength(1);
    server.clock.increment(30_000);
    await waitFor(() => text.includes("408"));
    await expect.poll(() => server.stored()).toEqual([]);
    socket.destroy();
  });

  test("rejects content with another checksum", async () => {
    await using server = await startMediaServer();
    const wrong = await server.send("abc", { headers: { "x-doorward-sha256": sha("abd") } });
    expect(wrong.status).toBe(422);
    expect(await server.stored()).toEqual([]);
    const right = await server.send("abc", { headers: { "x-doorward-sha256": sha("abc") } });
    expect(right.status).toBe(201);
  });

  test.each([
    ["a form", { "content-type": "multipart/form-data; boundary=x" }, "Content-Type"],
    ["a compressed body", { "content-encoding": "gzip" }, "Content-Encoding"],
    ["a part of a file", { "content-range": "bytes 0-3/8" }, "Content-Range"],
    ["a malformed checksum", { "x-doorward-sha256": "abc" }, "X-Doorward-SHA256"],
  ])("rejects %s and names the header", async (_, headers, name) => {
    await using server = await startMediaServer();
    const response = await server.send("abc", { headers: headers as Record<string, string> });
    expect(response.status).toBe(422);
    expect(((await response.json()) as { message: string }).message).toContain(name);
  });

  test("needs a token and a session", async () => {
    await using server = await startMediaServer();
    const status = async (path: string, authorization: string) =>
      (await server.send("abc", { path, headers: { authorization } })).status;
    expect(await status("/pico/media?session_id=s", "Bearer wrong")).toBe(401);
    const noSession = await server.send("abc", { path: "/pico/media" });
    expect(await noSession.json()).toMatchObject({ error: "invalid_session_id" });
    expect(await server.stored()).toEqual([]);
  });

  test("runs the check of the owner and discards what it rejects", async () => {
    const check = ["/bin/sh", "-c", "! grep -q VIRUS"];
    await using server = await startMediaServer({}, { check });
    expect((await server.send("a VIRUS")).status).toBe(422);
    expect(await server.stored()).toEqual([]);
    expect((await server.send("a text")).status).toBe(201);
  });

  test("stores nothing if the check cannot run", async () => {
    await using server = await startMediaServer({}, { check: ["/no/such/scanner"] });
    expect((await server.send("a text")).status).toBe(503);
    expect(await server.stored()).toEqual([]);
  });
});

describe("GET /pico/media/ID", () => {
  test("resumes a download by Range", async () => {
    await using server = await startMediaServer();
    const { url, sha256 } = await server.upload("0123456789");
    const part = async (range: string, more: Record<string, string> = {}) => {
      const response = await server.request(url, { headers: { range, ...more } });
      return [response.status, await response.text(), response.headers.get("content-range")];
    };
    expect(await part("bytes=4-")).toEqual([206, "456789", "bytes 4-9/10"]);
    expect(await part("bytes=2-3")).toEqual([206, "23", "bytes 2-3/10"]);
    expect(await part("bytes=-2")).toEqual([206, "89", "bytes 8-9/10"]);
    expect(await part("bytes=0-99")).toEqual([206, "0123456789", "bytes 0-9/10"]);
    expect(await part("bytes=10-")).toEqual([416, "", "bytes */10"]);
    expect(await part("bytes=-0")).toEqual([416, "", "bytes */10"]);
    expect(await part("bytes=3-2")).toEqual([200, "0123456789", null]);
    expect(await part("bytes=0-1,4-5")).toEqual([200, "0123456789", null]);
    expect((await part("bytes=4-", { "if-range": `"${sha256}"` }))[0]).toBe(206);
    expect((await part("bytes=4-", { "if-range": '"old"' }))[0]).toBe(200);
  });

  test("responds with 304 to a known version", async () => {
    await using server = await startMediaServer();
    const { url, sha256 } = await server.upload("0123456789");
    const headers = { "if-none-match": `"${sha256}"` };
    expect((await server.request(url, { headers })).status).toBe(304);
    const head = await server.request(url, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "10"]);
  });

  test("shows an image inline and downloads everything else", async () => {
    await using server = await startMediaServer();
    const kindOf = async (body: BodyInit, type: string, name: string) => {
      const headers = {
        "content-type": type,
        "content-disposition": `attachment; filename="${name}"`,
      };
      const { url, inline } = await server.upload(body, { headers });
      const response = await server.request(url);
      const [kind] = response.headers.get("content-disposition")!.split(";");
      return [kind, response.headers.get("content-type"), inline];
    };
    const neutral = "application/octet-stream";
    expect(await kindOf(png(), "image/png", "a.png")).toEqual(["inline", "image/png", true]);
    expect(await kindOf("<svg/>        ", "image/svg+xml", "a.svg")).toEqual([
      "attachment",
      neutral,
      false,
    ]);
    expect(await kindOf("<script></script>", "text/html", "a.html")).toEqual([
      "attachment",
      neutral,
      false,
    ]);
    expect(await kindOf("<script></script>", "image/png", "a.png")).toEqual([
      "attachment",
      neutral,
      false,
    ]);
    expect(await kindOf(png(), "text/html", "a.html")).toEqual(["attachment", neutral, false]);
  });

  test("hides a file of another person like an unknown file", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
    await using host = await identifiedHost({
      identify: (id) => ({ id }),
      first: media({ home }),
    });
    const body = "secret";
    const upload = await host.ask("ann", "/pico/media?session_id=notes", { method: "POST", body });
    expect(upload.status).toBe(201);
    const { url, id } = upload.body as { url: string; id: string };
    const answers = await Promise.all(
      [url, `/pico/media/${id.slice(0, -4)}0000`, "/pico/media/..%2F..%2Fetc%2Fpasswd"].map(
        async (path) => {
          const { status, body: text, headers } = await host.ask("bob", path);
          return { status, text, type: headers["content-type"], length: headers["content-length"] };
        },
      ),
    );
    expect(answers[0]).toMatchObject({ status: 404, text: { error: "not_found" } });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    const forged = await host.ask("bob", "/pico/media?session_id=host:ann/notes", {
      method: "POST",
      body,
    });
    expect(forged.status).toBe(403);
    const foreign = await host.ask("ann", "/pico/media?session_id=notes", {
      method: "POST",
      body,
      headers: { origin: "https://evil.example" },
    });
    expect(foreign.status).toBe(401);
    await rm(home, { recursive: true });
  });
});
