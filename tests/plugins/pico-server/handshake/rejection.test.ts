import { describe, expect, test } from "vitest";
import { startPicoServer, wsLines } from "../../../support/pico-server-harness.ts";

const rejectedLines = (testServer: Awaited<ReturnType<typeof startPicoServer>>) =>
  testServer.lines.filter(({ text }) => text === "client rejected");

describe("createRejectionReporter", () => {
  test("logs one line per address, code and minute with complete counts", async () => {
    await using testServer = await startPicoServer();
    for (let n = 0; n < 50; n++) await testServer.sendRaw("/pico", { lines: wsLines });
    expect(rejectedLines(testServer)).toHaveLength(1);
    expect(testServer.facts.filter(({ type }) => type === "pico-server:refused")).toHaveLength(50);
    expect(testServer.services.picoServer.metrics().handshakes["token_missing"]).toBe(50);
    await testServer.pass(60);
    expect(rejectedLines(testServer).slice(1)).toEqual([
      expect.objectContaining({
        level: "warn",
        via: "pico",
        reason: "token_missing",
        repeated: 49,
      }),
    ]);
    await testServer.pass(60);
    await testServer.sendRaw("/pico", { lines: wsLines });
    expect(rejectedLines(testServer)).toHaveLength(3);
  });

  test("logs a rejected origin once per minute", async () => {
    await using testServer = await startPicoServer({
      config: { allow_origins: ["https://app.example.org"] },
    });
    const lines = [...wsLines, "Origin: https://evil.example"];
    for (let n = 0; n < 30; n++) await testServer.sendRaw("/pico", { lines });
    expect(rejectedLines(testServer).map((line) => line["reason"])).toEqual(["origin_not_allowed"]);
  });

  test("always logs a wrong token that the limiter counts", async () => {
    await using testServer = await startPicoServer();
    for (let n = 0; n < 40; n++) await testServer.sendRaw("/pico", { lines: wsLines });
    const wrong = (token: string) =>
      testServer.sendRaw("/pico", { lines: [...wsLines, `Authorization: Bearer ${token}`] });
    for (const token of ["wrong-one", "wrong-two", "wrong-two", "wrong-two"]) await wrong(token);
    const counted = testServer.lines.filter((line) => line["reason"] === "token_mismatch");
    expect(counted.map((line) => line["count"])).toEqual([1, 2, undefined]);
  });
});
