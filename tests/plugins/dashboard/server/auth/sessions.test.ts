import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { dashboard, type DashboardEvents } from "../../../../../plugins/dashboard/index.ts";
import { http, type HostIdentity } from "../../../../../plugins/http/index.ts";
import {
  memoryTokens,
  testTokens,
  withKernel,
  type StoppedClock,
} from "../../../../../testkit/index.ts";
import { listening } from "../../../../embedding/support.ts";

// Tests a dashboard inside a host that has its own sign-in.

const server = createServer();
let ends = new Map<string, (reason: string) => void>();
/** Resolvers of checks that never finish. */
let slow = 0;
afterEach(() => {
  server.closeAllConnections();
  server.close();
  ends = new Map();
});

const identify = async ({ headers: { cookie } }: { headers: { cookie?: string | undefined } }) => {
  const [id, role] = (cookie ?? "").split("=");
  if (role === "slow")
    await new Promise(() => {
      slow += 1;
    });
  const onEnd: NonNullable<HostIdentity["onEnd"]> = (ended) => {
    ends.set(id!, ended);
    return () => void ends.delete(id!);
  };
  return role === undefined ? undefined : { id: id!, owner: role === "owner", onEnd };
};

type Facts = (DashboardEvents["dashboard:signed-in"] | DashboardEvents["dashboard:signed-out"])[];
type Ask = (path: string, init?: RequestInit) => Promise<Response>;
type Visit = (ask: Ask, facts: Facts, clock: StoppedClock) => Promise<void>;
async function hosted(visit: Visit): Promise<void> {
  const port = await listening(server);
  await withKernel(
    [memoryTokens(), http({ server, identify, basePath: "/ownership" }), dashboard()],
    async ({ kernel, clock }) => {
      const facts: Facts = [];
      kernel.on("dashboard:signed-in", (fact) => void facts.push(fact));
      kernel.on("dashboard:signed-out", (fact) => void facts.push(fact));
      const ask: Ask = (path, init) =>
        fetch(`http://127.0.0.1:${port}/ownership${path}`, { redirect: "manual", ...init });
      await visit(ask, facts, clock);
    },
  );
}

const ann = { cookie: "ann=owner" };
const bob = { cookie: "bob=guest" };
const page = { accept: "text/html" };

describe("HostSessions", () => {
  test("admits owners of the host as one session without a cookie", () =>
    hosted(async (ask, facts) => {
      for (const path of ["/overview", "/api/status"]) {
        const answer = await ask(path, { headers: { ...page, ...ann } });
        expect([answer.status, answer.headers.get("set-cookie")]).toEqual([200, null]);
      }
      expect(facts).toMatchObject([{ via: "host", address: "127.0.0.1" }]);
    }));

  test("continues without identity after five seconds", () =>
    hosted(async (ask, _, clock) => {
      const answer = ask("/api/status", { headers: { cookie: "cleo=slow" } });
      await expect.poll(() => slow).toBe(1);
      clock.increment(5_000);
      expect((await answer).status).toBe(401);
    }));

  test("requires the token from users who are not owners", () =>
    hosted(async (ask, facts) => {
      for (const headers of [bob, {}]) {
        expect(
          (await ask("/", { headers: { ...page, ...headers } })).headers.get("location"),
        ).toContain("/ownership/login");
        expect((await ask("/api/status", { headers })).status).toBe(401);
      }
      const body = JSON.stringify({ token: testTokens.launcher });
      const headers = { "content-type": "application/json", ...bob };
      const signIn = await ask("/login", { method: "POST", body, headers });
      expect(signIn.status).toBe(200);
      expect(facts).toMatchObject([{ via: "form" }]);
    }));

  test("rejects pages of other sites that act for an owner", () =>
    hosted(async (ask) => {
      const headers = { "content-type": "application/json", ...ann };
      const from = async (more: object): Promise<number> => {
        const init = { method: "POST", body: "{}", headers: { ...headers, ...more } };
        return (await ask("/api/signin-links", init)).status;
      };
      expect([await from({ origin: "https://evil.example" }), await from({})]).toEqual([403, 200]);
    }));

  test("ends its session with the session of the host", () =>
    hosted(async (ask, facts) => {
      await ask("/api/status", { headers: ann });
      ends.get("ann")!("signed out there");
      expect(facts.at(-1)).toMatchObject({ reason: "sign-out" });
      expect((await ask("/api/status", { headers: ann })).status).toBe(200);
      expect(facts).toHaveLength(3);
    }));
});
