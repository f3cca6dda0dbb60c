import { request, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { gate } from "../../support/sample-plugins.ts";
import {
  setupBackend,
  isSignedIn,
  rejection,
  setCookieOf,
  signIn,
  startDashboard,
  TOKEN,
  wrongToken,
  type DashboardServer,
  type HeaderLines,
} from "../../support/dashboard-server.ts";

// Tests requests during which a session, a token or the state changes.

/** Sends a request whose headers have been checked and whose body is held back. */
async function begin(
  server: DashboardServer,
  path: string,
  headers: HeaderLines,
): Promise<() => Promise<number>> {
  const all = {
    ...headers,
    "content-type": "application/json",
    "content-length": "2",
    expect: "100-continue",
  };
  const asked = request(new URL(path, server.base), {
    method: "POST",
    agent: false,
    headers: all as Record<string, string>,
  });
  const answered = new Promise<IncomingMessage>(
    (done, failed) => void asked.on("response", done).on("error", failed),
  );
  asked.flushHeaders();
  await new Promise((done) => asked.on("continue", done));
  return async () => {
    asked.end("{}");
    const answer = await answered;
    answer.resume();
    return answer.statusCode!;
  };
}

/** A token store whose writes end when the test resolves them. */
function slow(store: TokenBackend): {
  form: TokenBackend;
  writing: Promise<void>;
  write: () => void;
} {
  const [begun, held] = [gate(), gate()];
  const form: TokenBackend = {
    ...store,
    async write(...what) {
      begun.open();
      await held.promise;
      await store.write(...what);
    },
  };
  return { form, writing: begun.promise, write: () => held.open() };
}

const rotate = (server: DashboardServer, headers: HeaderLines): Promise<Response> =>
  server.post("/api/token/rotate", { which: "launcher", current: TOKEN }, headers);

describe("requireLiveSession", () => {
  test("rejects a request whose session ended while its body arrived", async () => {
    await using server = await startDashboard();
    const [stolen, own] = [await signIn(server), await signIn(server)];
    const finish = await begin(server, "/api/signin-links", stolen);
    const headers = { ...own, "content-type": "application/json" };
    const body = JSON.stringify({ current: TOKEN });
    expect(
      (await server.request("/api/sessions", { method: "DELETE", headers, body })).status,
    ).toBe(200);
    expect(await finish()).toBe(401);
  });

  test.each([
    ["session", (server: DashboardServer) => signIn(server)],
    ["program", async () => ({ authorization: `Bearer ${TOKEN}` })],
  ])("rejects a link request of a %s after a rotation", async (_, headersOf) => {
    await using server = await startDashboard();
    const finish = await begin(server, "/api/signin-links", await headersOf(server));
    expect((await rotate(server, await signIn(server))).status).toBe(200);
    expect(await finish()).toBe(401);
  });

  test("passes a request if nothing has changed", async () => {
    await using server = await startDashboard();
    for (const headers of [await signIn(server), { authorization: `Bearer ${TOKEN}` }]) {
      expect(await (await begin(server, "/api/signin-links", headers))()).toBe(200);
    }
  });
});

test("identify: gives up on a pending host check after five seconds", async () => {
  let asked = 0;
  let isWell = false;
  const form: TokenBackend = {
    ...memory({ launcher: TOKEN }),
    verify(_, candidate) {
      asked += 1;
      return isWell ? candidate === "right" : new Promise(() => undefined);
    },
  };
  await using server = await startDashboard({ form });
  const tries = Array.from({ length: 10 }, (_, n) =>
    server.post("/login", { token: wrongToken(n) }),
  );
  await expect.poll(() => asked).toBe(10);
  server.clock.increment(5_000);
  for (const answer of await Promise.all(tries)) await rejection(answer, 503, "store_unavailable");
  isWell = true;
  expect((await server.post("/login", { token: "right" })).status).toBe(200);
});

describe("rotation in progress", () => {
  test("keeps a sign-out of the browser that started the rotation", async () => {
    const { form, writing, write } = slow(memory({ launcher: TOKEN }));
    await using server = await startDashboard({ form });
    const session = await signIn(server);
    const replaced = rotate(server, session);
    await writing;
    expect((await server.post("/logout", undefined, session)).status).toBe(200);
    write();
    const answer = await replaced;
    expect(await answer.json()).toMatchObject({ token: expect.any(String) });
    expect(setCookieOf(answer)).toBeUndefined();
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("lets a delayed sign-in finish after setup", async () => {
    const { form, writing, write } = slow(setupBackend());
    await using server = await startDashboard({ form });
    const finished = server.post("/setup", { code: TOKEN, keep: true });
    await writing;
    const opened = server.open(`/?token=${TOKEN}`);
    await server.get("/healthz"); // by now it waits for the comparison
    write();
    expect((await finished).status).toBe(200);
    const answer = await opened;
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
    expect(setCookieOf(answer)).toBeDefined();
  });
});
