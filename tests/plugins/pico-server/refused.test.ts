import { describe, expect, test } from "vitest";
import { stand, wsLines } from "./stand.ts";

describe("log lines of refusals", () => {
  test("are sampled, and a line says how many had none; counts and facts are complete", async () => {
    await using door = await stand();
    for (let n = 0; n < 50; n++) await door.knock("/pico", { lines: wsLines });
    const refused = () => door.lines.filter(({ text }) => text === "refused");
    expect(refused()).toHaveLength(20);
    expect(door.facts.filter(({ type }) => type === "pico-server:refused")).toHaveLength(50);
    expect(door.services.picoServer.metrics().handshakes["token_missing"]).toBe(50);
    await door.pass(10);
    expect(
      door.lines.filter(({ text }) => text === "refused, without a line of their own"),
    ).toEqual([expect.objectContaining({ level: "warn", via: "pico", token_missing: 30 })]);
    await door.pass(30);
    await door.knock("/pico", { lines: wsLines });
    expect(refused()).toHaveLength(21);
  });

  test("a wrong token that counts has its line always, the same one again has none of that kind", async () => {
    await using door = await stand();
    for (let n = 0; n < 40; n++) await door.knock("/pico", { lines: wsLines });
    const wrong = (token: string) =>
      door.knock("/pico", { lines: [...wsLines, `Authorization: Bearer ${token}`] });
    for (const token of ["wrong-one", "wrong-two", "wrong-two"]) await wrong(token);
    const counted = door.lines.filter((line) => line["reason"] === "token_mismatch");
    expect(counted.map((line) => line["count"])).toEqual([1, 2]);
  });
});
