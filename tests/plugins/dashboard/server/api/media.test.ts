import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { media, type FileView } from "../../../../../plugins/media/index.ts";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";
import { filesBelow, png } from "../../../../support/media-server.ts";

interface Visit extends ApiClient {
  /** Sends an upload of the signed-in page. */
  upload(body: BodyInit, headers?: Record<string, string>): Promise<Response>;
  stored(): Promise<string[]>;
}

async function withFiles(visit: (office: Visit) => Promise<void>, config: object = {}) {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const before = [media({ home })] as unknown as AnyPlugin[];
  const run = (office: ApiClient): Promise<void> =>
    visit({
      ...office,
      upload: (body, headers = {}) =>
        fetch(`${office.origin}/api/media?session=s`, {
          method: "POST",
          body,
          headers: { ...office.session, ...headers },
        }),
      stored: () => filesBelow(join(home, "state", "media")),
    });
  await withApi(run, { before, config });
  await rm(home, { recursive: true });
}

describe("/api/media", () => {
  test("stores, lists and sends files of a session", async () => {
    await withFiles(async (office) => {
      const disposition = "attachment; filename=a.png";
      const headers = { "content-type": "image/png", "content-disposition": disposition };
      const uploaded = await office.upload(png(), headers);
      expect(uploaded.status).toBe(201);
      const file = (await uploaded.json()) as FileView;
      expect(file).toMatchObject({
        url: `/api/media/${file.id}`,
        size: 64,
        content_type: "image/png",
        filename: "a.png",
        inline: true,
      });
      const list = await office.ask("GET", "/api/media?session=s");
      expect(list.body).toEqual({ files: [file] });
      expect((await office.ask("GET", "/api/media?session=t")).body).toEqual({ files: [] });
      const headersOf = { ...office.session, range: "bytes=1-3" };
      const part = await office.request(file.url, { headers: headersOf });
      expect([part.status, await part.text()]).toEqual([206, "PNG"]);
      expect(part.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
      expect(part.headers.get("cache-control")).toBe("no-store");
      const head = await office.request(file.url, { method: "HEAD", headers: office.session });
      expect([head.status, head.headers.get("content-length")]).toEqual([200, "64"]);
    });
  });

  test("rejects requests without a sign-in and of other sites", async () => {
    await withFiles(async (office) => {
      const file = (await (await office.upload("text")).json()) as FileView;
      const before = await office.stored();
      const anonymous = { headers: {} };
      expect((await office.request(file.url, anonymous)).status).toBe(401);
      expect((await office.request("/api/media?session=s", anonymous)).status).toBe(401);
      const wrong = { authorization: `Bearer ${PICO}` };
      expect((await office.request(file.url, { headers: wrong })).status).toBe(401);
      const foreign = await office.upload("text", { origin: "https://evil.example" });
      expect(foreign.status).toBe(403);
      expect((await office.upload("text", { cookie: "" })).status).toBe(401);
      expect(await office.stored()).toEqual(before);
      const bearer = { authorization: `Bearer ${TOKEN}`, cookie: "" };
      expect((await office.upload("text", bearer)).status).toBe(201);
    });
  });

  test("reports limits with their status and stores nothing", async () => {
    await withFiles(
      async (office) => {
        const large = await office.upload(new Uint8Array(1024 * 1024 + 1));
        expect(large.status).toBe(413);
        expect(await large.json()).toMatchObject({ error: "file_too_large" });
        expect((await office.upload("one")).status).toBe(201);
        const second = await office.upload("two");
        expect(second.status).toBe(507);
        expect(await second.json()).toMatchObject({ error: "media_full" });
        const form = { "content-type": "multipart/form-data; boundary=x" };
        expect((await office.upload("text", form)).status).toBe(422);
        expect((await office.ask("GET", "/api/media?session=s")).body.files).toHaveLength(1);
      },
      { media: { max_file_mb: 1, max_files: 1 } },
    );
  });

  test("discards an upload if the sign-in ends before it", async () => {
    await withFiles(async (office) => {
      let finish = (): void => undefined;
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from("half"));
          finish = () => {
            controller.enqueue(Buffer.from("rest"));
            controller.close();
          };
        },
      });
      const sent = fetch(`${office.origin}/api/media?session=s`, {
        method: "POST",
        body,
        headers: office.session,
        duplex: "half",
      } as RequestInit);
      await expect.poll(() => office.stored()).toHaveLength(1);
      const signOut = { method: "POST", headers: office.session };
      expect((await office.request("/logout", signOut)).status).toBeLessThan(400);
      finish();
      expect((await sent).status).toBe(401);
      expect(await office.stored()).toEqual([]);
    });
  });

  test("responds with 404 to unknown files", async () => {
    await withFiles(async (office) => {
      for (const id of ["m_1", "..%2f..", `m_${"0".repeat(48)}`])
        expect((await office.ask("GET", `/api/media/${id}`)).status).toBe(404);
    });
  });
});
