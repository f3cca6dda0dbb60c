import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { Upload } from "tus-js-client";
import { memory } from "../../../plugins/token-store/index.ts";
import { startCutter } from "../../support/cutter.ts";
import { token } from "../../support/pico-server-harness.ts";
import { newUploadHome, startUploadServer, type UploadServer } from "../../support/uploads.ts";

const hour = 3_600_000;
const address = { channel: "pico", session: "s" };
const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const idOf = (path: string): string => path.split("/").at(-1)!;
const codeOf = async (response: Response) =>
  [response.status, ((await response.json()) as { error: string }).error] as const;

/** Moves the clock by hours, and lets the hourly sweep finish. */
async function pass({ clock, offset }: UploadServer, hours: number, path: string) {
  for (let at = 0; at < hours; at += 1) {
    clock.increment(hour);
    await offset(path);
  }
}

describe("resumable upload", () => {
  test("arrives in parts as one file with its name", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(10, "grüße.txt");
    expect((await server.append(path, 0, "0123")).headers.get("upload-offset")).toBe("4");
    const head = await server.ask("HEAD", path);
    expect(Object.fromEntries(head.headers)).toMatchObject({
      "upload-offset": "4",
      "upload-length": "10",
      "tus-resumable": "1.0.0",
      "cache-control": "no-store",
    });
    expect((await server.ask("GET", path, {})).status).toBe(404);
    expect((await server.append(path, 4, "456789")).status).toBe(204);
    const file = await server.files.get(idOf(path));
    expect(file).toMatchObject({ filename: "grüße.txt", contentType: "text/plain", size: 10 });
    expect(file?.sha256).toBe(sha(Buffer.from("0123456789")));
    // The response may be lost: asking again and sending nothing more is right.
    expect(await server.offset(path)).toBe(10);
    expect((await server.append(path, 10, "")).status).toBe(204);
    const authorization = `Bearer ${token}`;
    const content = await fetch(server.base + path, { headers: { authorization } });
    expect(await content.text()).toBe("0123456789");
  });

  test("may be empty", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(0);
    expect(await server.files.get(idOf(path))).toMatchObject({ size: 0 });
  });

  test("says what the server can do", async () => {
    await using server = await startUploadServer({ section: { max_file_mb: 3 } });
    const { status, headers } = await server.ask("OPTIONS", "/pico/media");
    expect([status, headers.get("tus-version"), headers.get("tus-extension")]).toEqual([
      204,
      "1.0.0",
      "creation,termination",
    ]);
    expect(headers.get("tus-max-size")).toBe(String(3 * 1024 * 1024));
  });

  test("rejects what does not follow the protocol, and keeps its bytes", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(10);
    await server.append(path, 0, "0123");
    const type = { "content-type": "application/offset+octet-stream" };
    const bad = async (
      method: string,
      where: string,
      headers: Record<string, string>,
      body?: string,
    ) => codeOf(await server.ask(method, where, headers, body));
    const at = (offset: string) => ({ ...type, "upload-offset": offset });
    const create = "/pico/media?session_id=s";
    const old = { ...at("4"), "tus-resumable": "0.2.2" };
    expect(await bad("PATCH", path, old, "4")).toEqual([412, "upload_version"]);
    expect(await bad("PATCH", path, at("3"), "4")).toEqual([409, "upload_conflict"]);
    expect(await bad("PATCH", path, at("5"), "4")).toEqual([409, "upload_conflict"]);
    expect(await bad("PATCH", path, at("x"), "4")).toEqual([400, "upload_invalid"]);
    const plain = { ...at("4"), "content-type": "text/plain" };
    expect(await bad("PATCH", path, plain, "4")).toEqual([415, "upload_type"]);
    expect(await bad("PATCH", path, at("4"), "45678901")).toEqual([400, "upload_invalid"]);
    expect(await bad("POST", create, {})).toEqual([400, "upload_invalid"]);
    const odd = { "upload-length": "1", "upload-metadata": "filename %" };
    expect(await bad("POST", create, odd)).toEqual([400, "upload_invalid"]);
    const large = { "upload-length": String(4 * 1024 ** 3) };
    expect(await bad("POST", create, large)).toEqual([413, "file_too_large"]);
    expect(await bad("PATCH", `${path.slice(0, -1)}x`, at("0"), "0")).toEqual([404, "not_found"]);
    expect(await server.offset(path)).toBe(4);
    await server.append(path, 4, "456789");
    expect((await server.files.get(idOf(path)))?.sha256).toBe(sha(Buffer.from("0123456789")));
  });

  test("rejects another checksum, and leaves nothing", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(3, "a", "s", { "x-doorward-sha256": sha(Buffer.from("abd")) });
    expect(await codeOf(await server.append(path, 0, "abc"))).toEqual([422, "invalid_file"]);
    expect(await server.offset(path)).toBeUndefined();
    expect(await server.stored()).toEqual([]);
  });

  test("has one writer, which gives way when nothing comes", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(10);
    const first = server.open(path, 0);
    first.sending.write("0123");
    await expect.poll(() => server.offset(path)).toBe(4);
    expect(await codeOf(await server.append(path, 4, "456789"))).toEqual([423, "upload_locked"]);
    server.clock.increment(5_000);
    expect((await server.append(path, 4, "456789")).status).toBe(204);
    expect(await first.ended).toBe(423);
    expect((await server.files.get(idOf(path)))?.sha256).toBe(sha(Buffer.from("0123456789")));
  });

  test("reserves its whole length until it ends", async () => {
    await using server = await startUploadServer({ section: { max_session_mb: 1, max_files: 2 } });
    const path = await server.begin(700 * 1024);
    await expect(server.begin(700 * 1024)).rejects.toThrow("507");
    expect((await server.ask("DELETE", path)).status).toBe(204);
    expect(await server.offset(path)).toBeUndefined();
    expect(await server.stored()).toEqual([]);
    await server.begin(700 * 1024);
    await server.begin(10);
    await expect(server.begin(10)).rejects.toThrow("media.max_files");
  });

  test("limits the uploads of a sender that have not ended", async () => {
    await using server = await startUploadServer();
    for (let count = 0; count < 64; count += 1) await server.begin(1, "a", `s${count}`);
    await expect(server.begin(1, "a", "more")).rejects.toThrow("503");
  });

  test("continues after a restart, with its reservation and a new hash", async () => {
    const home = await newUploadHome();
    const section = { max_session_mb: 1 };
    const bytes = randomBytes(800 * 1024);
    let path: string;
    {
      await using first = await startUploadServer({ home, section });
      path = await first.begin(bytes.length);
      await first.append(path, 0, bytes.subarray(0, 300_000));
      const cut = first.open(path, 300_000);
      cut.sending.write(bytes.subarray(300_000, 400_000));
      await expect.poll(() => first.offset(path)).toBe(400_000);
      cut.sending.destroy();
    }
    await using second = await startUploadServer({ home, section });
    await expect(second.begin(400 * 1024)).rejects.toThrow("507");
    expect(await second.offset(path)).toBe(400_000);
    expect((await second.append(path, 400_000, bytes.subarray(400_000))).status).toBe(204);
    expect((await second.files.get(idOf(path)))?.sha256).toBe(sha(bytes));
    expect((await second.stored()).filter((name) => name.startsWith("parts"))).toEqual([]);
  });

  test("lives for a day of running time, whatever the clock says", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(10);
    server.system.wrongMs = 400 * 24 * hour;
    await pass(server, 12, path);
    server.system.wrongMs = -400 * 24 * hour;
    await pass(server, 11, path);
    expect(await server.offset(path)).toBe(0);
    await expect
      .poll(async () => {
        await pass(server, 1, path);
        return server.offset(path);
      })
      .toBeUndefined();
    await expect.poll(() => server.stored()).toEqual([]);
  });

  test("ends with its conversation, also while bytes arrive", async () => {
    await using server = await startUploadServer();
    const other = await server.begin(10, "a.txt", "other");
    const path = await server.begin(10);
    const headers = { "content-type": "application/json" };
    const message = JSON.stringify({ session_id: "s", content: "hello" });
    const said = await server.ask("POST", "/pico/messages", headers, message);
    expect(said.status).toBe(202);
    const writing = server.open(path, 0);
    writing.sending.write("0123");
    await expect.poll(() => server.offset(path)).toBe(4);
    server.clock.increment(1_000);
    const found = await server.history.find(address);
    await server.history.forget(found!.id);
    expect(await writing.ended).toBe(404);
    expect(await server.offset(path)).toBeUndefined();
    expect(await server.offset(other)).toBe(0);
  });

  test("ends a request whose token was replaced, and stores no file", async () => {
    const form = memory({ pico: token });
    await using server = await startUploadServer({ form });
    const path = await server.begin(8);
    const writing = server.open(path, 0);
    writing.sending.write("0123");
    await expect.poll(() => server.offset(path)).toBe(4);
    const { tokenSecrets, tokens } = server.kernel.services;
    const value = "another-horse-battery-staple-9876543210-xyz";
    await tokenSecrets.replace("pico", { value, expect: tokens.info("pico").version });
    writing.sending.end("4567");
    expect(await writing.ended).toBe(401);
    const headers = { authorization: `Bearer ${value}`, "upload-offset": "4" };
    expect((await server.ask("HEAD", path, headers)).headers.get("upload-offset")).toBe("4");
    expect((await server.append(path, 4, "4567", headers)).status).toBe(204);
    expect(await server.files.get(idOf(path))).toMatchObject({ size: 8 });
  });

  test("works with the client of tus over a connection that is cut", async () => {
    await using server = await startUploadServer();
    await using cutter = await startCutter(server.base);
    const bytes = randomBytes(2 * 1024 * 1024);
    let cuts = 0;
    const url = await new Promise<string>((resolve, reject) => {
      const upload = new Upload(bytes, {
        endpoint: `${cutter.base}/pico/media?session_id=s`,
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: "data.bin", filetype: "application/octet-stream" },
        chunkSize: 256 * 1024,
        retryDelays: [0, 0, 0, 0, 0, 0, 0, 0],
        onChunkComplete(_, sent) {
          if (cuts >= 3 || sent === bytes.length) return;
          cuts += 1;
          cutter.cut();
        },
        onSuccess: () => resolve(upload.url!),
        onError: reject,
      });
      upload.start();
    });
    expect(cuts).toBe(3);
    expect(await server.files.get(idOf(url))).toMatchObject({
      sha256: sha(bytes),
      size: bytes.length,
      filename: "data.bin",
    });
    expect(await server.files.list(address)).toHaveLength(1);
  });

  test("can be terminated by the client of tus", async () => {
    await using server = await startUploadServer();
    const path = await server.begin(10);
    await Upload.terminate(server.base + path, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await server.stored()).toEqual([]);
  });
});
