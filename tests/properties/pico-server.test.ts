import { Agent, request } from "node:http";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isOriginAllowed, isOriginPattern } from "../../plugins/pico-server/handshake/origins.ts";
import { startPicoServer, token } from "../support/pico-server-harness.ts";
import { runs } from "../support/runs.ts";

interface Offered {
  readonly header?: string;
  readonly item?: string;
  readonly coded?: string;
  readonly query?: string;
  /** Padding, which does not make a guess harder. */
  readonly spaces: number;
}
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

const probe = (port: number, path: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const q = request({ agent, port, host: "127.0.0.1", path, headers });
    q.on("response", (r) => r.resume().on("end", () => resolve(r.statusCode!)));
    q.on("error", reject).end();
  });

const guess = fc.integer({ min: 0, max: 40 }).map((n) => `guess-${n}`);
const offer = fc.record(
  { header: guess, item: guess, coded: guess, query: guess, spaces: fc.nat(3) },
  { requiredKeys: ["spaces"] },
);
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 40_000 }) }) },
  { weight: 3, arbitrary: fc.record({ offers: fc.array(offer, { minLength: 1, maxLength: 12 }) }) },
);

/** A server without a name of its own. */
const nowhere = {
  http: { addresses: () => [], isNamedHost: () => false, publicUrl: () => undefined },
  peer: { address: "10.0.0.1", key: "10.0.0.1", secure: false, host: "nowhere.example" },
};

describe("picoServer admission", () => {
  test("compares at most ten different wrong tokens per minute", async () => {
    const compared: { at: number; value: string }[] = [];
    let now = (): number => 0;
    await using testServer = await startPicoServer({
      config: { allow_token_query: true },
      verify: (verify) => async (name, value) => {
        compared.push({ at: now(), value: value.trim() });
        await new Promise((resolve) => setImmediate(resolve));
        return verify(name, value);
      },
    });
    now = () => testServer.clock.now();
    const send = ({ header, item, coded, query, spaces }: Offered) => {
      const padded = Buffer.from(`${coded}${" ".repeat(spaces * 20)}`).toString("base64url");
      const items = [...(item ? [`token.${item}`] : []), ...(coded ? [`token64.${padded}`] : [])];
      return probe(
        testServer.port,
        query ? `/pico?token=${query}${"%20".repeat(spaces * 20)}` : "/pico",
        {
          ...(header && { authorization: `Bearer ${header}` }),
          ...(items.length > 0 && { "sec-websocket-protocol": items.join(", ") }),
        },
      );
    };

    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        testServer.clock.increment(60_000);
        compared.length = 0;
        for (const one of steps) {
          if ("wait" in one) testServer.clock.increment(one.wait);
          else
            for (const status of await Promise.all(one.offers.map(send)))
              expect([400, 401, 429]).toContain(status);
        }
        for (const { at } of compared) {
          const window = compared.filter((other) => other.at >= at && other.at < at + 60_000);
          expect(new Set(window.map(({ value }) => value)).size).toBeLessThanOrEqual(10);
        }
        expect(await probe(testServer.port, "/pico", { authorization: `Bearer ${token}` })).toBe(
          200,
        );
      }),
      { numRuns: runs(40) },
    );
  });

  test("accepts no origin pattern that matches another site", () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,5}$/);
    const host = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join("."));
    fc.assert(
      fc.property(
        host,
        host,
        fc.constantFrom("http", "https"),
        fc.boolean(),
        (own, other, scheme, wild) => {
          const pattern = `${scheme}://${wild ? "*." : ""}${own}`;
          expect(isOriginPattern(pattern)).toBe(true);
          const seen = new URL(`${scheme}://${other}.test`).host;
          const named = wild ? seen.endsWith(`.${own}`) : seen === own;
          expect(isOriginAllowed([pattern], `${scheme}://${seen}`, nowhere)).toBe(named);
        },
      ),
    );
    const same = ["https://a.example", "https://a.example:443"];
    fc.assert(
      fc.property(
        fc.string(),
        (origin) =>
          isOriginAllowed(["https://a.example"], origin, nowhere) ===
          same.includes(origin.toLowerCase()),
      ),
    );
  });
});
