import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { PICO, TOKEN, withApi, type ApiClient } from "../../../../support/api-client.ts";

const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
const refused = async (office: ApiClient): Promise<any[]> =>
  (await office.ask("GET", "/api/status")).body.channel.refusals;

describe("GET /api/status: rejected clients", () => {
  test("lists reason, token method and count, newest first", () =>
    withApi(async (office) => {
      const knock = (headers: Record<string, string>, path = "/pico") =>
        office.ask("GET", path, undefined, headers);
      for (let n = 0; n < 3; n += 1) await knock({ ...upgrade, authorization: "Bearer wrong" });
      await knock({ authorization: `Bearer  ${PICO}` });
      await knock({ "sec-websocket-protocol": "token.wrong" });
      await knock({}, `/pico?token=${PICO}`);
      await knock({});
      const at = office.clock.now();
      const row = { at, times: 1, address: "127.0.0.1" };
      expect(await refused(office)).toEqual([
        { ...row, via: "none", code: "token_missing" },
        { ...row, via: "query", code: "token_query_disabled" },
        { ...row, via: "subprotocol", code: "token_mismatch" },
        { ...row, via: "header", code: "token_malformed" },
        { ...row, via: "header", code: "token_mismatch", times: 3 },
      ]);
      expect(JSON.stringify(await refused(office))).not.toContain(PICO);
    }));

  test("lists requests to a wrong path without the path", () =>
    withApi(async (office) => {
      const answer = await office.ask("GET", `/picos/${PICO}`, undefined, upgrade);
      expect([answer.status, answer.body.error]).toEqual([404, "not_found"]);
      await office.ask("GET", "/picos", undefined, {});
      const row = {
        at: office.clock.now(),
        times: 1,
        address: "127.0.0.1",
        via: "none",
        code: "wrong_path",
      };
      expect(await refused(office)).toEqual([row]);
    }));

  test("shows how long an address is blocked", () =>
    withApi(async (office) => {
      for (let n = 0; n < 11; n += 1)
        await office.ask("GET", "/pico", undefined, { authorization: `Bearer wrong${n}` });
      expect((await refused(office))[0]).toMatchObject({
        code: "rate_limited",
        until: office.clock.now() + 60_000,
      });
    }));

  test("unblocks an address with the launcher token only", () =>
    withApi(async (office) => {
      const attempt = (token: string) =>
        office.ask("GET", "/pico", undefined, { authorization: `Bearer ${token}` });
      for (let n = 0; n < 11; n += 1) await attempt(`wrong${n}`);
      const [{ address }] = await refused(office);
      const unblock = (body: object) => office.ask("POST", "/api/unblock", body);
      expect(await unblock({ address })).toMatchObject({ status: 400 });
      expect(await unblock({ address, current: "wrong" })).toMatchObject({ status: 403 });
      expect(await unblock({ current: TOKEN })).toMatchObject({ status: 400 });
      expect(await attempt("wrong12")).toMatchObject({ status: 429 });
      expect(await unblock({ address, current: TOKEN })).toMatchObject({ status: 200 });
      expect(await attempt("wrong13")).toMatchObject({ status: 401 });
      expect((await refused(office)).filter(({ until }) => until !== undefined)).toEqual([]);
    }));

  test("names the origin of a page", () =>
    withApi(
      async (office) => {
        const headers = { authorization: `Bearer ${PICO}`, origin: "https://b.example" };
        await office.ask("GET", "/pico", undefined, headers);
        expect((await refused(office))[0]).toMatchObject({
          code: "origin_not_allowed",
          origin: "https://b.example",
        });
      },
      { config: { channels: { pico: { enabled: true, allow_origins: ["https://a.example"] } } } },
    ));

  test("reports a proxy that removes Upgrade despite a valid token", () =>
    withApi(async (office) => {
      const { upgrade: _, connection: __, ...left } = upgrade;
      const answer = await office.ask("GET", "/pico", undefined, {
        ...left,
        authorization: `Bearer ${PICO}`,
      });
      expect(answer).toMatchObject({ status: 426, body: { error: "upgrade_required" } });
      expect(answer.body.message).toContain("proxy");
      expect((await refused(office))[0]).toMatchObject({ code: "upgrade_required", via: "header" });
    }));

  test("omits handshakes of the channel test", () =>
    withApi(async (office) => {
      expect((await office.ask("POST", "/api/channels/pico/try")).body.results).toHaveLength(4);
      expect(await refused(office)).toEqual([]);
      await office.ask("GET", `/pico?token=${PICO}`, undefined, {});
      expect(await refused(office)).toHaveLength(1);
    }));

  test("forgets rejections by a disabled channel once it is enabled", () =>
    withApi(
      async (office) => {
        const { channel } = (await office.ask("GET", "/api/status")).body;
        const attempt = (token: string) =>
          office.ask("GET", "/pico", undefined, { ...upgrade, authorization: `Bearer ${token}` });
        expect(await attempt(PICO)).toMatchObject({ status: 404 });
        expect(await refused(office)).toMatchObject([{ code: "not_found" }]);
        const headers = { ...office.session, "if-match": channel.etag };
        const change = { enabled: true };
        const changed = await office.ask("PUT", "/api/channels/pico", change, headers);
        expect(changed).toMatchObject({ status: 200, body: { now: ["enabled"] } });
        await attempt("wrong");
        expect(await refused(office)).toMatchObject([{ code: "token_mismatch" }]);
      },
      { config: { channels: { pico: { enabled: false } } } },
    ));

  test("forgets rejections by a missing token once there is one", () =>
    withApi(async (office) => {
      const file = join(office.home, ".security.yml");
      const content = await readFile(file, "utf8");
      const attempt = () =>
        office.ask("GET", "/pico", undefined, { ...upgrade, authorization: "Bearer wrong" });
      await writeFile(file, "channels: {}\n");
      await vi.waitFor(
        async () =>
          expect(await attempt()).toMatchObject({ body: { error: "token_not_configured" } }),
        { timeout: 20_000 },
      );
      const codes = async () => (await refused(office)).map(({ code }) => code);
      expect(await codes()).toContain("token_not_configured");
      await writeFile(file, content);
      await vi.waitFor(async () => expect(await codes()).not.toContain("token_not_configured"), {
        timeout: 20_000,
      });
    }));
});
