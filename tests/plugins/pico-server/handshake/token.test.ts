import { describe, expect, test } from "vitest";
import {
  fetchJson,
  bearer,
  rejection,
  startPicoServer,
  token,
  wsLines,
} from "../../../support/pico-server-harness.ts";
import { b64, protocol, recordCompared } from "../../../support/handshake-tokens.ts";

describe("step 6: token", () => {
  const [wrong, basic] = ["Authorization: Bearer x", "Authorization: Basic eDp5"];
  const withQuery = { config: { allow_token_query: true } };
  test.each<[string, string, readonly string[], string]>([
    ["Authorization: Bearer", "/pico", [bearer], "header"],
    ["the scheme in any case", "/pico", [`authorization: bEARER ${token}`], "header"],
    ["a token. subprotocol", "/pico", [protocol(`token.${token}`)], "subprotocol"],
    ["a token64. subprotocol", "/pico", [protocol(`token64.${b64(token)}`)], "subprotocol"],
    ["the query", `/pico?token=${token}`, [], "query"],
    ["a valid header with a wrong query", "/pico?token=wrong", [bearer], "header"],
    [
      "a valid query with two wrong tokens",
      `/pico?token=${token}`,
      [wrong, protocol("token.y")],
      "query",
    ],
    [
      "a valid item with a malformed header",
      "/pico",
      [basic, protocol(`token.${token}`)],
      "subprotocol",
    ],
  ])("accepts %s", async (_, path, lines, method) => {
    await using testServer = await startPicoServer(withQuery);
    expect((await testServer.sendRaw(path, { lines: [...wsLines, ...lines] })).status).toBe(101);
    expect(await testServer.fact("pico-server:connected")).toMatchObject({
      method,
      address: "127.0.0.1",
    });
  });

  test.each<[string, string, readonly string[], string]>([
    ["no token", "/pico", [], "token_missing"],
    ["an empty query and an empty item", "/pico?token=", [protocol("token.")], "token_missing"],
    ["another scheme", "/pico", [`Authorization: Basic ${b64(token)}`], "token_malformed"],
    ["two spaces", "/pico", [`Authorization: Bearer  ${token}`], "token_malformed"],
    ["no space", "/pico", [`Authorization: Bearer${token}`], "token_malformed"],
    ["nothing after Bearer", "/pico", ["Authorization: Bearer "], "token_malformed"],
    [
      "base64url that is not canonical",
      "/pico",
      [protocol(`token64.${b64(token)}=`)],
      "token_malformed",
    ],
    ["a wrong token", "/pico", ["Authorization: Bearer wrong"], "token_mismatch"],
    [
      "a part of the token",
      "/pico",
      [`Authorization: Bearer ${token.slice(0, -1)}`],
      "token_mismatch",
    ],
    ["bytes that are not UTF-8", "/pico", ["Authorization: Bearer \xff\xfe"], "token_mismatch"],
    [
      "a wrong token with a malformed one before it",
      "/pico",
      [basic, protocol("token.wrong")],
      "token_malformed",
    ],
  ])("%s is 401", async (_, path, lines, error) => {
    await using testServer = await startPicoServer(withQuery);
    const answer = await testServer.sendRaw(path, { lines: [...wsLines, ...lines] });
    expect(answer).toMatchObject({
      status: 401,
      body: { error },
      headers: { "www-authenticate": 'Bearer realm="pico"' },
    });
    expect(answer.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(JSON.stringify([answer, testServer.lines, testServer.facts])).not.toMatch(
      /wrong|staple/,
    );
    expect(await testServer.fact("pico-server:refused")).toMatchObject({
      code: error,
      address: "127.0.0.1",
    });
  });

  test("follows allow_token_query without a restart", async () => {
    await using testServer = await startPicoServer();
    for (const value of [token, "wrong"]) {
      expect(await testServer.sendRaw(`/pico?token=${value}`, { lines: wsLines })).toMatchObject(
        rejection(401, "token_query_disabled"),
      );
    }
    await testServer.configure({ allow_token_query: true });
    expect((await testServer.sendRaw(`/pico?token=${token}`, { lines: wsLines })).status).toBe(101);
  });

  test("matches a non-ASCII token as UTF-8 by every method", async () => {
    const own = "schlüssel-für-die-tür-🔑-lang-genug";
    await using testServer = await startPicoServer({ token: own, ...withQuery });
    const bytes = Buffer.from(own).toString("latin1");
    for (const [path, line] of [
      ["/pico", `Authorization: Bearer ${bytes}`],
      ["/pico", protocol(`token.${bytes}`)],
      ["/pico", protocol(`token64.${b64(own)}`)],
      [`/pico?token=${encodeURIComponent(own)}`, "X-None: 1"],
    ] as const) {
      expect((await testServer.sendRaw(path, { lines: [...wsLines, line] })).status).toBe(101);
    }
  });

  test("accepts a token with = and / as a subprotocol", async () => {
    const own = "c2VjcmV0/c2VjcmV0+c2VjcmV0==";
    await using testServer = await startPicoServer({ token: own });
    const answer = await testServer.sendRaw("/pico", {
      lines: [...wsLines, protocol(`chat, token.${own}`)],
    });
    expect([answer.status, answer.headers["sec-websocket-protocol"]]).toEqual([
      101,
      `token.${own}`,
    ]);
  });

  test("limits short tokens after ten wrong ones, accepts a long one", async () => {
    await using testServer = await startPicoServer({ token: "short-but-right-token" });
    const attempt = (value: string, from?: string) =>
      testServer.sendRaw("/pico", {
        lines: [...wsLines, `Authorization: Bearer ${value}`],
        ...(from && { from }),
      });
    for (let n = 0; n < 10; n++) {
      expect((await attempt(`wrong${n}`)).status).toBe(401);
      expect((await attempt(`wrong${n}`)).status).toBe(n < 9 ? 401 : 429);
    }
    const limited = await attempt("short-but-right-token");
    expect(limited).toMatchObject(rejection(429, "rate_limited"));
    expect(limited.headers["retry-after"]).toBe(String(limited.body.retryAfterSeconds));
    expect((await attempt("short-but-right-token", "127.0.0.2")).status).toBe(101);
    testServer.clock.increment(60_000);
    expect((await attempt("short-but-right-token")).status).toBe(101);
  });
  test("accepts 43 characters while limited, not counting spaces", async () => {
    const compared: string[] = [];
    await using testServer = await startPicoServer({
      ...withQuery,
      verify: recordCompared(compared),
    });
    for (let n = 0; n < 10; n++)
      await testServer.sendRaw("/pico", { lines: [...wsLines, `Authorization: Bearer wrong${n}`] });
    compared.length = 0;
    const padded = b64(`guess${" ".repeat(60)}`);
    expect(
      (await testServer.sendRaw(`/pico?token=guess${"%20".repeat(60)}`, { lines: wsLines })).status,
    ).toBe(429);
    expect(
      (await testServer.sendRaw("/pico", { lines: [...wsLines, protocol(`token64.${padded}`)] }))
        .status,
    ).toBe(429);
    expect(compared).toEqual([]);
    expect((await testServer.sendRaw("/pico")).status).toBe(101);
  });
  test("counts no missing, malformed or disallowed token", async () => {
    await using testServer = await startPicoServer();
    for (let n = 0; n < 12; n++) {
      await testServer.sendRaw("/pico", { lines: wsLines });
      await testServer.sendRaw("/pico", { lines: [...wsLines, `Authorization: Basic ${n}`] });
      await testServer.sendRaw(`/pico?token=wrong${n}`, { lines: wsLines });
      await testServer.sendRaw("/pico", {
        lines: [...wsLines, `Authorization: Bearer wrong${n}`, protocol(`token.${token}`)],
      });
    }
    expect(
      (await testServer.sendRaw("/pico", { lines: [...wsLines, "Authorization: Bearer wrong"] }))
        .status,
    ).toBe(401);
  });
  test("counts each distinct wrong token of one request", async () => {
    await using testServer = await startPicoServer(withQuery);
    const three = (n: number): string[] => [`Authorization: Bearer a${n}`, protocol(`token.b${n}`)];
    for (let n = 0; n < 3; n++) {
      expect(
        (await testServer.sendRaw(`/pico?token=c${n}`, { lines: [...wsLines, ...three(n)] }))
          .status,
      ).toBe(401);
    }
    expect((await testServer.sendRaw("/pico", { lines: [...wsLines, wrong!] })).status).toBe(401);
    expect((await testServer.sendRaw("/pico", { lines: [...wsLines, `${wrong}y`] })).status).toBe(
      429,
    );
  });
  test("responds with 503 store_unavailable while the token store fails", async () => {
    const unavailable = Object.assign(new Error("being replaced"), {
      name: "DoorwardError",
      code: "store_unavailable",
    });
    await using testServer = await startPicoServer({
      verify: () => () => Promise.reject(unavailable),
    });
    expect(await testServer.sendRaw("/pico")).toMatchObject(
      rejection(503, "store_unavailable", { "retry-after": "5" }),
    );
  });
  test("responds with 500 without details after an unexpected error", async () => {
    await using testServer = await startPicoServer({
      verify: () => () => Promise.reject(new Error("disk on fire")),
    });
    for (const answer of [
      await testServer.sendRaw("/pico"),
      await fetchJson(testServer.port, "/pico"),
    ]) {
      expect(answer).toMatchObject(rejection(500, "internal"));
      expect(JSON.stringify(answer)).not.toContain("fire");
    }
  });
  test("rejects a token that is rotated during the comparison", async () => {
    let replace = (): Promise<unknown> => Promise.resolve();
    await using testServer = await startPicoServer({
      verify: (verify) => async (name, value) => {
        const version = await verify(name, value);
        await replace();
        return version;
      },
    });
    replace = () => testServer.services.tokenSecrets.replace("pico", { expect: 1 });
    expect(await testServer.sendRaw("/pico")).toMatchObject(rejection(401, "token_mismatch"));
  });
});
