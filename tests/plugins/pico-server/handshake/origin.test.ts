import { describe, expect, test } from "vitest";
import { isOriginAllowed } from "../../../../plugins/pico-server/handshake/origins.ts";
import { bearer, startPicoServer, wsLines } from "../../../support/pico-server-harness.ts";

describe("step 4: origin", () => {
  const origins = [
    "https://app.example.org",
    "https://*.example.net",
    "http://localhost:5173",
    "self",
  ];
  test.each([
    ["https://app.example.org", true],
    ["HTTPS://App.Example.org", true],
    ["https://app.example.org:443", true],
    ["http://app.example.org", false],
    ["https://app.example.org:8443", false],
    ["https://app.example.org.evil.example", false],
    ["https://a.example.net", true],
    ["https://a.b.example.net", true],
    ["https://example.net", false],
    ["https://evilexample.net", false],
    ["https://evil.example/.example.net", false],
    ["http://localhost:5173", true],
    ["http://localhost:5174", false],
    ["null", false],
    ["", false],
  ])("%s passes: %s", async (origin, passes) => {
    await using testServer = await startPicoServer({ config: { allow_origins: origins } });
    const answer = await testServer.sendRaw("/pico", {
      lines: [...wsLines, bearer, `Origin: ${origin}`],
    });
    expect([answer.status, answer.body.error]).toEqual(
      passes ? [101, undefined] : [403, "origin_not_allowed"],
    );
  });
  test("resolves self only for hosts that foreign DNS cannot control", async () => {
    await using testServer = await startPicoServer({ config: { allow_origins: ["self"] } });
    const from = (host: string, origin = host) =>
      testServer.sendRaw("/pico", {
        lines: [...wsLines, bearer, `Host: ${host}`, `Origin: http://${origin}`],
      });
    expect((await from(`127.0.0.1:${testServer.port}`)).status).toBe(101);
    expect((await from(`localhost:${testServer.port}`)).status).toBe(101);
    expect((await from(`localhost:${testServer.port}`, "localhost:1")).status).toBe(403);
    expect((await from(`evil.example:${testServer.port}`)).status).toBe(403);
  });
  const http = {
    addresses: () => [new URL("http://127.0.0.1:18800/")],
    isNamedHost: (name: string) => ["chat.example.org", "b.example.net"].includes(name),
    publicUrl: (path: string) => `https://public.example.com/base${path}`,
  };
  test.each([
    ["chat.example.org", true, "https://chat.example.org", true],
    ["chat.example.org", false, "https://chat.example.org", true],
    ["b.example.net", true, "https://b.example.net", true],
    ["chat.example.org:8443", true, "https://chat.example.org:8443", true],
    ["127.0.0.1:18800", false, "https://chat.example.org", true],
    ["127.0.0.1:18800", false, "https://public.example.com", true],
    ["public.example.com", true, "https://public.example.com", true],
    ["127.0.0.1:18800", false, "https://public.example.com:8443", false],
    ["127.0.0.1:18800", false, "http://public.example.com", false],
    ["127.0.0.1:18800", false, "https://chat.example.org:8443", false],
    ["chat.example.org", true, "https://evil.example", false],
    ["evil.example", true, "https://evil.example", false],
    ["chat.example.org", true, "https://chat.example.org.evil.example", false],
  ])("knows itself behind a proxy: Host %s, https %s, %s", (host, secure, origin, passes) => {
    const peer = { address: "10.0.0.1", key: "10.0.0.1", secure, host };
    expect(isOriginAllowed(["self"], origin, { http, peer })).toBe(passes);
  });
  test.each(["*", "null"])("accepts the origin null with the pattern %s", async (pattern) => {
    await using testServer = await startPicoServer({ config: { allow_origins: [pattern] } });
    expect(
      (await testServer.sendRaw("/pico", { lines: [...wsLines, bearer, "Origin: null"] })).status,
    ).toBe(101);
  });
  test("accepts all origins with an empty list, and no origin always", async () => {
    await using testServer = await startPicoServer();
    const lines = [...wsLines, bearer, "Origin: https://any.example"];
    expect((await testServer.sendRaw("/pico", { lines })).status).toBe(101);
    await testServer.configure({ allow_origins: origins });
    expect((await testServer.sendRaw("/pico")).status).toBe(101);
  });
  test("rejects an unlisted origin before the limiter counts an attempt", async () => {
    await using testServer = await startPicoServer({ config: { allow_origins: origins } });
    for (let n = 0; n < 12; n++) {
      const lines = [...wsLines, `Authorization: Bearer wrong${n}`, "Origin: https://evil.example"];
      expect((await testServer.sendRaw("/pico", { lines })).status).toBe(403);
    }
    expect(
      (await testServer.sendRaw("/pico", { lines: [...wsLines, "Authorization: Bearer wrong"] }))
        .status,
    ).toBe(401);
  });
});
