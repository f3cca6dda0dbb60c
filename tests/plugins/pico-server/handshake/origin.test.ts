import { describe, expect, test } from "vitest";
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
