import { describe, expect, test } from "vitest";
import { identifiedHost } from "../../support/identified-host.ts";

function fail(): never {
  throw new Error("the database\nis away");
}

describe("identify", () => {
  test.each<[string, () => unknown]>([
    ["throws", fail],
    ["rejects", async () => fail()],
    ["has sessions() that throw", () => ({ id: "ann", sessions: fail })],
  ])("logs one line without a stack if it %s", async (_, identify) => {
    await using host = await identifiedHost({ identify });
    for (let count = 0; count < 20; count++) {
      const { status } = await host.ask("ann", "/pico/history?session_id=s1");
      expect([401, 403]).toContain(status);
    }
    const lines = host.lines.filter(({ text }) => text.includes("identify"));
    expect(lines).toMatchObject([{ reason: "identify_failed", why: "the database is away" }]);
    expect(lines[0]).not.toHaveProperty("err");
  });
});
