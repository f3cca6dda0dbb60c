import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createKernel, type Plugin } from "../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { channels } from "../../../../plugins/channels/index.ts";
import { http, type Http } from "../../../../plugins/http/index.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../../plugins/token-store/index.ts";
import {
  ask,
  bearer,
  client,
  knock,
  refusal,
  stand,
  token,
  until,
  wsLines,
  type StandOptions,
} from "../../../support/pico-server-harness.ts";

const b64 = (text: string): string => Buffer.from(text).toString("base64url");
/** Records the compared tokens. */
const noting =
  (compared: string[]): NonNullable<StandOptions["verify"]> =>
  (verify) =>
  (name, value) => {
    compared.push(value);
    return verify(name, value);
  };
const protocol = (list: string): string => `Sec-WebSocket-Protocol: ${list}`;

describe("upgrade paths", () => {
  test.each(["/pico", "/pico/", "/pico/ws", "/pico/ws/"])(
    "accept WebSockets at %s",
    async (path) => {
      await using door = await stand();
      expect((await door.knock(path)).status).toBe(101);
    },
  );
});

describe("handshake checks", () => {
  test("report the faults of a request in order", async () => {
    const settings = {
      enabled: false,
      max_connections: 1,
      allow_origins: ["https://app.example.org"],
    };
    await using door = await stand({ config: settings });
    const faults = {
      method: "POST",
      origin: "https://evil.example",
      offered: "token.one, token.other",
      token: "wrong",
      version: 8,
      session: "a%07",
    };
    const answer = async (mended: Partial<typeof faults> = {}): Promise<unknown> => {
      const { method, session, ...o } = Object.assign(faults, mended);
      const lines = [
        ...wsLines.filter((line) => !/version/i.test(line)),
        `Sec-WebSocket-Version: ${o.version}`,
        `Origin: ${o.origin}`,
        protocol(o.offered),
        `Authorization: Bearer ${o.token}`,
      ];
      const { status, body } = await door.knock(`/pico?session_id=${session}`, { method, lines });
      return [status, body.error];
    };
    expect(await answer()).toEqual([404, "not_found"]);
    await door.configure({ enabled: true });
    expect(await answer()).toEqual([405, "method_not_allowed"]);
    expect(await answer({ method: "GET" })).toEqual([403, "origin_not_allowed"]);
    expect(await answer({ origin: "https://app.example.org" })).toEqual([400, "bad_handshake"]);
    expect(await answer({ offered: "chat" })).toEqual([401, "token_mismatch"]);
    expect(await answer({ token })).toEqual([426, "upgrade_required"]);
    expect(await answer({ version: 13 })).toEqual([400, "invalid_session_id"]);
    const other = await door.connect();
    expect(await answer({ session: "a" })).toEqual([503, "too_many_connections"]);
    other.ws.terminate();
    await door.fact("pico-server:disconnected");
    expect(await answer()).toEqual([101, undefined]);
    door.removeToken();
    expect(await answer({ method: "POST", origin: "https://evil.example" })).toEqual([
      503,
      "token_not_configured",
    ]);
  });
});

describe("step 1: disabled channel and unknown paths", () => {
  test.each([
    ["GET", "/pico"],
    ["OPTIONS", "/pico"],
    ["POST", "/pico/messages"],
    ["GET", "/pico/ws"],
  ])("%s %s is 404 while the channel is off", async (method, path) => {
    await using door = await stand({ config: { enabled: false } });
    expect(await door.knock(path, { method, lines: [bearer] })).toMatchObject(
      refusal(404, "not_found"),
    );
  });
  test("rejects an upgrade with 404 while the channel is off", async () => {
    await using door = await stand({ config: { enabled: false } });
    const answer = await door.knock("/pico");
    expect(answer).toMatchObject(refusal(404, "not_found"));
    expect(answer.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect(await door.fact("pico-server:refused")).toMatchObject({
      code: "not_found",
      address: "127.0.0.1",
    });
  });
  test("rejects an unknown path with 404", async () => {
    await using door = await stand();
    expect(await ask(door.port, "/pico/nothing")).toMatchObject(refusal(404, "not_found"));
  });
});

describe("step 2: not ready", () => {
  /**
   * Sends requests while the listener is open and the channel is not: before it is ready, and after
   * it stopped.
   */
  async function whileClosed(asks: (port: number) => Promise<unknown>): Promise<unknown[]> {
    const seen: unknown[] = [];
    const witness: Plugin<{ needs: { http: Http } }> = {
      name: "witness",
      api: 1,
      needs: { http: true },
      start({ needs, onReady }) {
        onReady(async () => {
          const port = Number(needs.http.addresses()[0]!.port);
          seen.push(await asks(port));
          return async () => void seen.push(await asks(port));
        });
      },
    };
    const tokens = tokenStore(memory({ pico: token }));
    const kernel = createKernel([tokens, channels(), http({ port: 0 }), witness, picoServer()], {
      config: { "channels.pico": { enabled: true } },
      log: createCapturedLog().log,
    });
    await kernel.start();
    await kernel.stop();
    return seen;
  }
  test("responds with 503 unavailable and Retry-After while starting or stopping", async () => {
    const unavailable = {
      status: 503,
      body: { error: "unavailable", retryAfterSeconds: 2 },
      headers: { "retry-after": "2" },
    };
    const seen = await whileClosed((port) =>
      Promise.all([knock(port, "/pico"), ask(port, "/pico")]),
    );
    expect(seen).toMatchObject([
      [unavailable, unavailable],
      [unavailable, unavailable],
    ]);
  });
  test("responds with 503 token_not_configured and Retry-After without a token", async () => {
    await using door = await stand();
    door.removeToken();
    const answer = await door.knock("/pico");
    expect(answer).toMatchObject(refusal(503, "token_not_configured"));
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    expect((await ask(door.port, "/pico")).status).toBe(503);
  });
});

describe("step 3: request method", () => {
  test.each([
    ["POST", "/pico", [...wsLines, bearer], "GET, HEAD, OPTIONS"],
    ["DELETE", "/pico", [bearer], "GET, HEAD, OPTIONS"],
    ["GET", "/pico/messages", [bearer], "POST, OPTIONS"],
    ["PUT", "/pico/ws", [bearer], "GET, HEAD, OPTIONS"],
  ])("%s %s is 405 and names what is allowed", async (method, path, lines, allow) => {
    await using door = await stand();
    expect(await door.knock(path, { method, lines })).toMatchObject({
      status: 405,
      body: { error: "method_not_allowed" },
      headers: { allow },
    });
  });
});

describe("step 3a: dashboard pages", () => {
  const page = (port: number, changes: readonly string[] = []) => [
    ...wsLines,
    "Cookie: session=good",
    `Origin: http://localhost:${port}`,
    ...changes,
  ];
  const endings: ((reason: string) => void)[] = [];
  const signIns: Plugin<{ needs: { http: Http } }> = {
    name: "sign-ins",
    api: 1,
    needs: { http: true },
    start({ needs }) {
      const onEnd = (ended: (reason: string) => void) => {
        endings.push(ended);
        return () => void endings.splice(endings.indexOf(ended), 1);
      };
      needs.http.registerIdentity("session", (request) =>
        request.headers.cookie === "session=good" ? { id: "a", onEnd } : undefined,
      );
    },
  };
  const open = (options: object = {}) => stand({ plugins: [signIns], ...options });

  test("accepts a signed-in page, also with allow_origins set", async () => {
    await using door = await open({ config: { allow_origins: ["https://app.example.org"] } });
    expect((await door.knock("/pico", { lines: page(door.port) })).status).toBe(101);
    const expected = { method: "dashboard", user: "owner" };
    expect(await door.fact("pico-server:connected")).toMatchObject(expected);
  });
  test("rejects a signed-in browser on another origin", async () => {
    await using door = await open();
    const lines = [...wsLines, "Cookie: session=good", "Origin: http://localhost:1"];
    expect((await door.knock("/pico", { lines })).body.error).toBe("token_missing");
    expect((await door.knock("/pico", { lines: lines.slice(0, -1) })).body.error).toBe(
      "token_missing",
    );
  });
  test("rejects a signed-in page with a wrong token", async () => {
    await using door = await open();
    const wrong = page(door.port, ["Authorization: Bearer wrong"]);
    expect((await door.knock("/pico", { lines: wrong })).body.error).toBe("token_mismatch");
  });
  test("rejects plain requests of a signed-in page", async () => {
    await using door = await open();
    expect((await door.knock("/pico", { lines: page(door.port).slice(4) })).body.error).toBe(
      "token_missing",
    );
  });
  test("separates sign-ins and tokens when the channels have a listener", async () => {
    await using door = await open({ gateway: true });
    const { dashboardPort, port } = door;
    expect((await knock(port, "/pico", { lines: page(port) })).body.error).toBe("token_missing");
    expect((await knock(port, "/pico")).status).toBe(101);
    expect((await knock(dashboardPort, "/pico", { lines: page(dashboardPort) })).status).toBe(101);
    expect(await knock(dashboardPort, "/pico")).toMatchObject(refusal(404, "not_found"));
    expect((await ask(dashboardPort, "/pico")).status).toBe(404);
  });
  test("keeps its connection after a rotation, until the sign-out", async () => {
    await using door = await open();
    const headers = { cookie: "session=good", origin: `http://127.0.0.1:${door.port}` };
    const peer = await door.connect("/pico", { token: null, headers });
    await door.services.tokenSecrets.replace("pico", { expect: 1 });
    door.removeToken();
    await peer.settled();
    endings.splice(0).forEach((end) => end("sign-out"));
    expect(await peer.closed).toEqual({ code: 1008, reason: "session_ended" });
  });
});

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
    await using door = await stand({ config: { allow_origins: origins } });
    const answer = await door.knock("/pico", { lines: [...wsLines, bearer, `Origin: ${origin}`] });
    expect([answer.status, answer.body.error]).toEqual(
      passes ? [101, undefined] : [403, "origin_not_allowed"],
    );
  });
  test("resolves self only for hosts that foreign DNS cannot control", async () => {
    await using door = await stand({ config: { allow_origins: ["self"] } });
    const from = (host: string, origin = host) =>
      door.knock("/pico", {
        lines: [...wsLines, bearer, `Host: ${host}`, `Origin: http://${origin}`],
      });
    expect((await from(`127.0.0.1:${door.port}`)).status).toBe(101);
    expect((await from(`localhost:${door.port}`)).status).toBe(101);
    expect((await from(`localhost:${door.port}`, "localhost:1")).status).toBe(403);
    expect((await from(`evil.example:${door.port}`)).status).toBe(403);
  });
  test.each(["*", "null"])("accepts the origin null with the pattern %s", async (pattern) => {
    await using door = await stand({ config: { allow_origins: [pattern] } });
    expect(
      (await door.knock("/pico", { lines: [...wsLines, bearer, "Origin: null"] })).status,
    ).toBe(101);
  });
  test("accepts all origins with an empty list, and no origin always", async () => {
    await using door = await stand();
    const lines = [...wsLines, bearer, "Origin: https://any.example"];
    expect((await door.knock("/pico", { lines })).status).toBe(101);
    await door.configure({ allow_origins: origins });
    expect((await door.knock("/pico")).status).toBe(101);
  });
  test("rejects an unlisted origin before the limiter counts an attempt", async () => {
    await using door = await stand({ config: { allow_origins: origins } });
    for (let n = 0; n < 12; n++) {
      const lines = [...wsLines, `Authorization: Bearer wrong${n}`, "Origin: https://evil.example"];
      expect((await door.knock("/pico", { lines })).status).toBe(403);
    }
    expect(
      (await door.knock("/pico", { lines: [...wsLines, "Authorization: Bearer wrong"] })).status,
    ).toBe(401);
  });
});

describe("step 5: one token by each method", () => {
  test.each([
    ["two token items", "/pico", [protocol(`token.${token}, token.other`)]],
    ["the same item by both forms", "/pico", [protocol(`token.${token}, token64.${b64(token)}`)]],
    ["two token parameters", `/pico?token=${token}&token=${token}`, []],
  ])("%s are 400 bad_handshake", async (_, path, lines) => {
    await using door = await stand({ config: { allow_token_query: true } });
    expect(await door.knock(path, { lines: [...wsLines, ...lines] })).toMatchObject(
      refusal(400, "bad_handshake"),
    );
  });
  test.each(["/pico", "/pico/ws"])(
    "rejects two Authorization headers with 400 (%s)",
    async (path) => {
      await using door = await stand();
      for (const lines of [wsLines, []]) {
        expect(await door.knock(path, { lines: [...lines, bearer, bearer] })).toMatchObject(
          refusal(400, "bad_handshake"),
        );
      }
      const wrong = (n: number): string[] => [bearer, `Authorization: Bearer ${n}`];
      for (let n = 0; n < 10; n++) await door.knock(path, { lines: [...wsLines, ...wrong(n)] });
      const guess = { lines: [...wsLines, "Authorization: Bearer guess"] };
      expect(await door.knock(path, guess)).toMatchObject(refusal(429, "rate_limited"));
    },
  );
  test("sends CORS headers of a rejection only to allowed origins", async () => {
    await using door = await stand({ config: { allow_origins: ["https://app.example"] } });
    const from = (origin: string) =>
      door.knock("/pico", { lines: [...wsLines, `Origin: ${origin}`] });
    expect(await from("https://app.example")).toMatchObject(
      refusal(401, "token_missing", {
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
  test("compares no token and counts one wrong value", async () => {
    const compared: string[] = [];
    await using door = await stand({ verify: noting(compared) });
    for (let n = 0; n < 10; n++) {
      await door.knock("/pico", { lines: [...wsLines, protocol(`token.a${n}, token.b${n}`)] });
    }
    expect(compared).toEqual([]);
    expect(
      (await door.knock("/pico", { lines: [...wsLines, "Authorization: Bearer short"] })).status,
    ).toBe(429);
  });
});

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
    await using door = await stand(withQuery);
    expect((await door.knock(path, { lines: [...wsLines, ...lines] })).status).toBe(101);
    expect(await door.fact("pico-server:connected")).toMatchObject({
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
    await using door = await stand(withQuery);
    const answer = await door.knock(path, { lines: [...wsLines, ...lines] });
    expect(answer).toMatchObject({
      status: 401,
      body: { error },
      headers: { "www-authenticate": 'Bearer realm="pico"' },
    });
    expect(answer.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    });
    expect(JSON.stringify([answer, door.lines, door.facts])).not.toMatch(/wrong|staple/);
    expect(await door.fact("pico-server:refused")).toMatchObject({
      code: error,
      address: "127.0.0.1",
    });
  });

  test("follows allow_token_query without a restart", async () => {
    await using door = await stand();
    for (const value of [token, "wrong"]) {
      expect(await door.knock(`/pico?token=${value}`, { lines: wsLines })).toMatchObject(
        refusal(401, "token_query_disabled"),
      );
    }
    await door.configure({ allow_token_query: true });
    expect((await door.knock(`/pico?token=${token}`, { lines: wsLines })).status).toBe(101);
  });

  test("matches a non-ASCII token as UTF-8 by every method", async () => {
    const own = "schlüssel-für-die-tür-🔑-lang-genug";
    await using door = await stand({ token: own, ...withQuery });
    const bytes = Buffer.from(own).toString("latin1");
    for (const [path, line] of [
      ["/pico", `Authorization: Bearer ${bytes}`],
      ["/pico", protocol(`token.${bytes}`)],
      ["/pico", protocol(`token64.${b64(own)}`)],
      [`/pico?token=${encodeURIComponent(own)}`, "X-None: 1"],
    ] as const) {
      expect((await door.knock(path, { lines: [...wsLines, line] })).status).toBe(101);
    }
  });

  test("accepts a token with = and / as a subprotocol", async () => {
    const own = "c2VjcmV0/c2VjcmV0+c2VjcmV0==";
    await using door = await stand({ token: own });
    const answer = await door.knock("/pico", {
      lines: [...wsLines, protocol(`chat, token.${own}`)],
    });
    expect([answer.status, answer.headers["sec-websocket-protocol"]]).toEqual([
      101,
      `token.${own}`,
    ]);
  });

  test("limits short tokens after ten wrong ones, accepts a long one", async () => {
    await using door = await stand({ token: "short-but-right-token" });
    const attempt = (value: string, from?: string) =>
      door.knock("/pico", {
        lines: [...wsLines, `Authorization: Bearer ${value}`],
        ...(from && { from }),
      });
    for (let n = 0; n < 10; n++) {
      expect((await attempt(`wrong${n}`)).status).toBe(401);
      expect((await attempt(`wrong${n}`)).status).toBe(n < 9 ? 401 : 429);
    }
    const limited = await attempt("short-but-right-token");
    expect(limited).toMatchObject(refusal(429, "rate_limited"));
    expect(limited.headers["retry-after"]).toBe(String(limited.body.retryAfterSeconds));
    expect((await attempt("short-but-right-token", "127.0.0.2")).status).toBe(101);
    door.clock.increment(60_000);
    expect((await attempt("short-but-right-token")).status).toBe(101);
  });
  test("accepts 43 characters while limited, not counting spaces", async () => {
    const compared: string[] = [];
    await using door = await stand({ ...withQuery, verify: noting(compared) });
    for (let n = 0; n < 10; n++)
      await door.knock("/pico", { lines: [...wsLines, `Authorization: Bearer wrong${n}`] });
    compared.length = 0;
    const padded = b64(`guess${" ".repeat(60)}`);
    expect(
      (await door.knock(`/pico?token=guess${"%20".repeat(60)}`, { lines: wsLines })).status,
    ).toBe(429);
    expect(
      (await door.knock("/pico", { lines: [...wsLines, protocol(`token64.${padded}`)] })).status,
    ).toBe(429);
    expect(compared).toEqual([]);
    expect((await door.knock("/pico")).status).toBe(101);
  });
  test("counts no missing, malformed or disallowed token", async () => {
    await using door = await stand();
    for (let n = 0; n < 12; n++) {
      await door.knock("/pico", { lines: wsLines });
      await door.knock("/pico", { lines: [...wsLines, `Authorization: Basic ${n}`] });
      await door.knock(`/pico?token=wrong${n}`, { lines: wsLines });
      await door.knock("/pico", {
        lines: [...wsLines, `Authorization: Bearer wrong${n}`, protocol(`token.${token}`)],
      });
    }
    expect(
      (await door.knock("/pico", { lines: [...wsLines, "Authorization: Bearer wrong"] })).status,
    ).toBe(401);
  });
  test("counts each distinct wrong token of one request", async () => {
    await using door = await stand(withQuery);
    const three = (n: number): string[] => [`Authorization: Bearer a${n}`, protocol(`token.b${n}`)];
    for (let n = 0; n < 3; n++) {
      expect(
        (await door.knock(`/pico?token=c${n}`, { lines: [...wsLines, ...three(n)] })).status,
      ).toBe(401);
    }
    expect((await door.knock("/pico", { lines: [...wsLines, wrong!] })).status).toBe(401);
    expect((await door.knock("/pico", { lines: [...wsLines, `${wrong}y`] })).status).toBe(429);
  });
  test("responds with 503 store_unavailable while the token store fails", async () => {
    const unavailable = Object.assign(new Error("being replaced"), {
      name: "DoorwardError",
      code: "store_unavailable",
    });
    await using door = await stand({ verify: () => () => Promise.reject(unavailable) });
    expect(await door.knock("/pico")).toMatchObject(
      refusal(503, "store_unavailable", { "retry-after": "5" }),
    );
  });
  test("responds with 500 without details after an unexpected error", async () => {
    await using door = await stand({
      verify: () => () => Promise.reject(new Error("disk on fire")),
    });
    for (const answer of [await door.knock("/pico"), await ask(door.port, "/pico")]) {
      expect(answer).toMatchObject(refusal(500, "internal"));
      expect(JSON.stringify(answer)).not.toContain("fire");
    }
  });
  test("rejects a token that is rotated during the comparison", async () => {
    let replace = (): Promise<unknown> => Promise.resolve();
    await using door = await stand({
      verify: (verify) => async (name, value) => {
        const version = await verify(name, value);
        await replace();
        return version;
      },
    });
    replace = () => door.services.tokenSecrets.replace("pico", { expect: 1 });
    expect(await door.knock("/pico")).toMatchObject(refusal(401, "token_mismatch"));
  });
});

describe("step 7: WebSocket, version 13", () => {
  test("rejects another version with 426", async () => {
    await using door = await stand();
    const lines = [...wsLines.map((line) => line.replace("Version: 13", "Version: 8")), bearer];
    const headers = { upgrade: "websocket", "sec-websocket-version": "13" };
    expect(await door.knock("/pico", { lines })).toMatchObject(
      refusal(426, "upgrade_required", headers),
    );
  });
  test("responds to GET /pico/ws with 426, or 401 without a token", async () => {
    await using door = await stand();
    expect(await ask(door.port, "/pico/ws")).toMatchObject({
      status: 426,
      headers: { upgrade: "websocket" },
    });
    expect((await ask(door.port, "/pico/ws", { headers: { authorization: "" } })).status).toBe(401);
  });
  test("explains a missing Upgrade header with 426", async () => {
    await using door = await stand();
    const answer = await ask(door.port, "/pico", {
      headers: { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
    });
    expect(answer).toMatchObject(refusal(426, "upgrade_required"));
    expect(answer.body["message"]).toContain("The Upgrade header is missing");
  });
  test("serves an upgrade to another protocol as plain HTTP", async () => {
    await using door = await stand();
    const lines = [
      "Connection: Upgrade, HTTP2-Settings",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
      bearer,
    ];
    expect(await door.knock("/pico", { lines })).toMatchObject({
      status: 200,
      body: { protocol: "pico" },
    });
  });
});

describe("step 8: WebSocket and extension parameters", () => {
  const without = (name: string) => [...wsLines.filter((line) => !line.startsWith(name)), bearer];
  test.each<[string, string, readonly string[], string]>([
    ["no key", "/pico", without("Sec-WebSocket-Key"), "bad_handshake"],
    [
      "a bad key",
      "/pico",
      [...without("Sec-WebSocket-Key"), "Sec-WebSocket-Key: short"],
      "bad_handshake",
    ],
    ["two keys", "/pico", [...wsLines, wsLines[3]!, bearer], "bad_handshake"],
    ["an empty subprotocol", "/pico", [...wsLines, bearer, protocol("a,,b")], "bad_handshake"],
    [
      "a malformed subprotocol name",
      "/pico",
      [...wsLines, bearer, protocol("a b")],
      "bad_handshake",
    ],
    ["a subprotocol twice", "/pico", [...wsLines, bearer, protocol("chat, chat")], "bad_handshake"],
    ["two sessions", "/pico?session_id=a&session_id=b", [...wsLines, bearer], "bad_handshake"],
    [
      "a long session",
      `/pico?session_id=${"%C3%A9".repeat(129)}`,
      [...wsLines, bearer],
      "invalid_session_id",
    ],
    [
      "a control character in the session",
      "/pico?session_id=a%07b",
      [...wsLines, bearer],
      "invalid_session_id",
    ],
  ])("%s is 400", async (_, path, lines, error) => {
    await using door = await stand();
    expect(await door.knock(path, { lines })).toMatchObject(refusal(400, error));
  });
  test("accepts a session id of 256 bytes and an empty one", async () => {
    await using door = await stand();
    expect((await door.knock(`/pico?session_id=${"a".repeat(256)}`)).status).toBe(101);
    expect((await door.knock("/pico?session_id=")).status).toBe(101);
  });
  test("checks the parameters only after the token", async () => {
    await using door = await stand();
    const lines = ["Connection: Upgrade", "Upgrade: websocket"];
    expect((await door.knock("/pico?session_id=%07", { lines })).status).toBe(401);
  });
});

describe("step 9: max_connections", () => {
  test("defaults to 100", async () => {
    await using door = await stand();
    expect(door.services.picoServer.status().maxConnections).toBe(100);
  });
  test("responds with 503 and Retry-After until a slot is free", async () => {
    await using door = await stand({ config: { max_connections: 2 } });
    const first = await door.connect();
    await door.connect();
    const refused = await door.knock("/pico");
    expect(refused).toMatchObject(refusal(503, "too_many_connections", { "retry-after": "5" }));
    first.ws.close();
    await door.fact("pico-server:disconnected");
    expect((await door.knock("/pico")).status).toBe(101);
  });
  test("limits concurrent handshakes and frees slots of rejected ones", async () => {
    await using door = await stand({ config: { max_connections: 5 } });
    let most = 0;
    const sockets = Array.from({ length: 20 }, () => {
      const ws = new WebSocket(`ws://127.0.0.1:${door.port}/pico`, {
        headers: { authorization: `Bearer ${token}` },
      });
      ws.on("error", () => undefined);
      return ws;
    });
    await until(() => {
      most = Math.max(most, door.services.picoServer.status().connections);
      return sockets.every(({ readyState }) => readyState !== WebSocket.CONNECTING);
    });
    expect(most).toBeLessThanOrEqual(5);
    sockets.forEach((ws) => ws.terminate());
    await until(() => door.services.picoServer.status().connections === 0);
    await Promise.all(Array.from({ length: 5 }, () => client(door.port, "/pico")));
  });
});

describe("step 10: subprotocol of the response", () => {
  test.each<[string, readonly string[], string | undefined]>([
    ["pico.v1 when it was offered", [protocol(`token.${token}, pico.v1`)], "pico.v1"],
    ["pico.v1 with a header token", [bearer, protocol("chat, pico.v1")], "pico.v1"],
    ["the item with the token", [protocol(`chat, token.${token}`)], `token.${token}`],
    [
      "the item in the form it was offered",
      [protocol(`chat,token64.${b64(token)}`)],
      `token64.${b64(token)}`,
    ],
    ["none when the token came otherwise", [bearer, protocol("chat, superchat")], undefined],
    ["none for a wrong item with a valid header", [bearer, protocol("token.wrong")], undefined],
    ["none when none was offered", [bearer], undefined],
  ])("%s", async (_, lines, echo) => {
    await using door = await stand();
    const { status, headers } = await door.knock("/pico", { lines: [...wsLines, ...lines] });
    expect([status, headers["sec-websocket-protocol"]]).toEqual([101, echo]);
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["sec-websocket-extensions"]).toBeUndefined();
  });
  test("repeats the offered bytes of a non-ASCII token", async () => {
    const own = "schlüssel-für-die-tür-🔑-lang-genug";
    await using door = await stand({ token: own });
    const offered = `token.${Buffer.from(own).toString("latin1")}`;
    const { headers } = await door.knock("/pico", { lines: [...wsLines, protocol(offered)] });
    expect(headers["sec-websocket-protocol"]).toBe(offered);
  });

  test("opens a browser WebSocket with its token item", async () => {
    await using door = await stand();
    const ws = new WebSocket(`ws://127.0.0.1:${door.port}/pico`, [`token.${token}`]);
    await once(ws, "open");
    expect(ws.protocol).toBe(`token.${token}`);
    ws.terminate();
  });
});
