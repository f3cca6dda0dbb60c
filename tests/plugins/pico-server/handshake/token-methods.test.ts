import { describe, expect, test } from "vitest";
import {
  bearer,
  rejection,
  startPicoServer,
  token,
  wsLines,
} from "../../../support/pico-server-harness.ts";
import { b64, protocol, recordCompared } from "../../../support/handshake-tokens.ts";

describe("step 5: one token by each method", () => {
  test.each([
    ["two token items", "/pico", [protocol(`token.${token}, token.other`)]],
    ["the same item by both forms", "/pico", [protocol(`token.${token}, token64.${b64(token)}`)]],
    ["two token parameters", `/pico?token=${token}&token=${token}`, []],
  ])("%s are 400 bad_handshake", async (_, path, lines) => {
    await using testServer = await startPicoServer({ config: { allow_token_query: true } });
    expect(await testServer.sendRaw(path, { lines: [...wsLines, ...lines] })).toMatchObject(
      rejection(400, "bad_handshake"),
    );
  });
  test.each(["/pico", "/pico/ws"])(
    "rejects two Authorization headers with 400 (%s)",
    async (path) => {
      await using testServer = await startPicoServer();
      for (const lines of [wsLines, []]) {
        expect(await testServer.sendRaw(path, { lines: [...lines, bearer, bearer] })).toMatchObject(
          rejection(400, "bad_handshake"),
        );
      }
      const wrong = (n: number): string[] => [bearer, `Authorization: Bearer ${n}`];
      for (let n = 0; n < 10; n++)
        await testServer.sendRaw(path, { lines: [...wsLines, ...wrong(n)] });
      const guess = { lines: [...wsLines, "Authorization: Bearer guess"] };
      expect(await testServer.sendRaw(path, guess)).toMatchObject(rejection(429, "rate_limited"));
    },
  );
  test("sends CORS headers of a rejection only to allowed origins", async () => {
    await using testServer = await startPicoServer({
      config: { allow_origins: ["https://app.example"] },
    });
    const from = (origin: string) =>
      testServer.sendRaw("/pico", { lines: [...wsLines, `Origin: ${origin}`] });
    expect(await from("https://app.example")).toMatchObject(
      rejection(401, "token_missing", {
        "access-control-allow-origin": "https://app.example",
        vary: "Origin",
        "access-control-expose-headers": "Retry-After, WWW-Authenticate",
        "cross-origin-resource-policy": "cross-origin",
      }),
    );
    expect((await from("https://other.example")).headers).not.toHaveProperty(
      "access-control-allow-origin",
    );
  });
  test("keeps a plus sign of the query", async () => {
    const compared: string[] = [];
    const config = { allow_token_query: true };
    await using testServer = await startPicoServer({ config, verify: recordCompared(compared) });
    await testServer.sendRaw("/pico?session_id=a+b&token=a+b%2Bc%20d", { lines: wsLines });
    expect(compared).toEqual(["a+b+c d"]);
  });
  test("compares no token and counts one wrong value", async () => {
    const compared: string[] = [];
    await using testServer = await startPicoServer({ verify: recordCompared(compared) });
    for (let n = 0; n < 10; n++) {
      await testServer.sendRaw("/pico", {
        lines: [...wsLines, protocol(`token.a${n}, token.b${n}`)],
      });
    }
    expect(compared).toEqual([]);
    expect(
      (await testServer.sendRaw("/pico", { lines: [...wsLines, "Authorization: Bearer short"] }))
        .status,
    ).toBe(429);
  });
});
