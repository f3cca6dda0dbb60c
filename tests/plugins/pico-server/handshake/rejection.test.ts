import { describe, expect, test } from "vitest";
import { stand, wsLines } from "../../../support/pico-server-harness.ts";

const refusedLines = (door: Awaited<ReturnType<typeof stand>>) =>
  door.lines.filter(({ text }) => text === "refused");

describe("createRejectionReporter", () => {
  test("logs one line per address, code and minute with complete counts", async () => {
    await using door = await stand();
    for (let n = 0; n < 50; n++) await door.knock("/pico", { lines: wsLines });
    expect(refusedLines(door)).toHaveLength(1);
    expect(door.facts.filter(({ type }) => type === "pico-server:refused")).toHaveLength(50);
    expect(door.services.picoServer.metrics().handshakes["token_missing"]).toBe(50);
    await door.pass(60);
    expect(refusedLines(door).slice(1)).toEqual([
      expect.objectContaining({
        level: "warn",
        via: "pico",
        reason: "token_missing",
        repeated: 49,
      }),
    ]);
    await door.pass(60);
    await door.knock("/pico", { lines: wsLines });
    expect(refusedLines(door)).toHaveLength(3);
  });

  test("logs a rejected origin once per minute", async () => {
    await using door = await stand({ config: { allow_origins: ["https://app.example.org"] } });
    const lines = [...wsLines, "Origin: https://evil.example"];
    for (let n = 0; n < 30; n++) await door.knock("/pico", { lines });
    expect(refusedLines(door).map((line) => line["reason"])).toEqual(["origin_not_allowed"]);
  });

  test("always logs a wrong token that the limiter counts", async () => {
    await using door = await stand();
    for (let n = 0; n < 40; n++) await door.knock("/pico", { lines: wsLines });
    const wrong = (token: string) =>
      door.knock("/pico", { lines: [...wsLines, `Authorization: Bearer ${token}`] });
    for (const token of ["wrong-one", "wrong-two", "wrong-two", "wrong-two"]) await wrong(token);
    const counted = door.lines.filter((line) => line["reason"] === "token_mismatch");
    expect(counted.map((line) => line["count"])).toEqual([1, 2, undefined]);
  });
});
