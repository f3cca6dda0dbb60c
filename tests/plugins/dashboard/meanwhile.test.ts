import { request, type IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { gate } from "../../support/sample-plugins.ts";
import {
  inSetup,
  isIn,
  refusal,
  setCookieOf,
  signedIn,
  startDashboard,
  TOKEN,
  wrong,
  type DashboardStand,
  type Lines,
} from "../../support/dashboard-server.ts";

// Tests requests during which a session, a token or the state changes.

/** Sends a request whose headers have been checked and whose body is held back. */
async function begin(
  stand: DashboardStand,
  path: string,
  headers: Lines,
): Promise<() => Promise<number>> {
  const all = {
    ...headers,
    "content-type": "application/json",
    "content-length": "2",
    expect: "100-continue",
  };
  const asked = request(new URL(path, stand.base), {
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

const rotate = (stand: DashboardStand, headers: Lines): Promise<Response> =>
  stand.post("/api/token/rotate", { which: "launcher", current: TOKEN }, headers);

describe("requireLiveSession", () => {
  test("rejects a request whose session ended while its body arrived", async () => {
    await using stand = await startDashboard();
    const [stolen, own] = [await signedIn(stand), await signedIn(stand)];
    const finish = await begin(stand, "/api/signin-links", stolen);
    const headers = { ...own, "content-type": "application/json" };
    const body = JSON.stringify({ current: TOKEN });
    expect((await stand.request("/api/sessions", { method: "DELETE", headers, body })).status).toBe(
      200,
    );
    expect(await finish()).toBe(401);
  });

  test.each([
    ["session", (stand: DashboardStand) => signedIn(stand)],
    ["program", async () => ({ authorization: `Bearer ${TOKEN}` })],
  ])("rejects a link request of a %s after a rotation", async (_, headersOf) => {
    await using stand = await startDashboard();
    const finish = await begin(stand, "/api/signin-links", await headersOf(stand));
    expect((await rotate(stand, await signedIn(stand))).status).toBe(200);
    expect(await finish()).toBe(401);
  });

  test("passes a request if nothing has changed", async () => {
    await using stand = await startDashboard();
    for (const headers of [await signedIn(stand), { authorization: `Bearer ${TOKEN}` }]) {
      expect(await (await begin(stand, "/api/signin-links", headers))()).toBe(200);
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
  await using stand = await startDashboard({ form });
  const tries = Array.from({ length: 10 }, (_, n) => stand.post("/login", { token: wrong(n) }));
  await expect.poll(() => asked).toBe(10);
  stand.clock.increment(5_000);
  for (const answer of await Promise.all(tries)) await refusal(answer, 503, "store_unavailable");
  isWell = true;
  expect((await stand.post("/login", { token: "right" })).status).toBe(200);
});

describe("rotation in progress", () => {
  test("keeps a sign-out of the browser that started the rotation", async () => {
    const { form, writing, write } = slow(memory({ launcher: TOKEN }));
    await using stand = await startDashboard({ form });
    const session = await signedIn(stand);
    const replaced = rotate(stand, session);
    await writing;
    expect((await stand.post("/logout", undefined, session)).status).toBe(200);
    write();
    const answer = await replaced;
    expect(await answer.json()).toMatchObject({ token: expect.any(String) });
    expect(setCookieOf(answer)).toBeUndefined();
    expect(await isIn(stand, session)).toBe(false);
  });

  test("lets a delayed sign-in finish after setup", async () => {
    const { form, writing, write } = slow(inSetup());
    await using stand = await startDashboard({ form });
    const finished = stand.post("/setup", { code: TOKEN, keep: true });
    await writing;
    const opened = stand.open(`/?token=${TOKEN}`);
    await stand.get("/healthz"); // by now it waits for the comparison
    write();
    expect((await finished).status).toBe(200);
    const answer = await opened;
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
    expect(setCookieOf(answer)).toBeDefined();
  });
});
