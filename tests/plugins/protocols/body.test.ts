import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { withBody } from "../../../plugins/protocols/requests.ts";
import type { Protocol } from "../../../plugins/protocols/protocol.ts";
import type { Call } from "../../../plugins/protocols/server.ts";

/** A request with a JSON body, and whether its memory was released. */
function createRequest(text: string) {
  const seen = { releases: 0 };
  const memory = {
    reserve: () => true,
    arrived: () => undefined,
    release: () => void (seen.releases += 1),
  };
  const protocol = {
    channel: { body: () => memory },
    config: () => ({ max_body: 1_000 }),
    clock: { setTimeout: () => undefined, clearTimeout: () => undefined },
  } as unknown as Protocol;
  const headers = { "content-type": "application/json", "content-length": String(text.length) };
  const request = Object.assign(Readable.from([Buffer.from(text)]), { headers });
  const call = { request, access: {}, enter: () => undefined } as unknown as Call;
  return { protocol, call, seen };
}

describe("withBody", () => {
  test("counts a body until the application has the message", async () => {
    const { protocol, call, seen } = createRequest("{}");
    let accepted = (): void => undefined;
    const left = async (_: object, release: () => void): Promise<void> => void (accepted = release);
    await withBody(protocol, call, (body) => body, left);
    expect(seen.releases).toBe(0);
    accepted();
    expect(seen.releases).toBe(1);
  });

  test("releases a body that cannot be used", async () => {
    for (const text of ["{", "{}"]) {
      const { protocol, call, seen } = createRequest(text);
      const refused = (): never => {
        throw new Error("refused");
      };
      await expect(withBody(protocol, call, refused, refused)).rejects.toThrow();
      expect(seen.releases).toBe(1);
    }
  });
});
