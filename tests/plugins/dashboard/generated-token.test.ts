import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { dashboard } from "../../../plugins/dashboard/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { TOKEN } from "../../support/dashboard-server.ts";

/** Starts a dashboard and returns its warnings. */
async function warnings(tokens: Record<string, string>, options = {}): Promise<string[]> {
  let found: string[] = [];
  const list = [tokenStore(memory(tokens)), http({ port: 0 }), dashboard(options)] as const;
  await withKernel(list, ({ lines }) => {
    found = lines.filter(({ level }) => level === "warn").map(({ text }) => text);
  });
  return found;
}

describe("dashboard", () => {
  test("says how to set the launcher token if it generated one", async () => {
    expect(await warnings({})).toEqual([
      expect.stringMatching(
        /^There was no launcher token.*tokenStore\(memory\({ launcher: "…" }\)\)/,
      ),
    ]);
  });

  test("logs nothing if the host shows the token or sets one", async () => {
    expect(await warnings({}, { ways: () => ["console"] })).toEqual([]);
    expect(await warnings({ launcher: TOKEN })).toEqual([]);
  });
});
