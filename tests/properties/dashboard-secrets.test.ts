import { inspect } from "node:util";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  TOKEN,
  createLoginLink,
  opened,
  setCookieOf,
  startDashboard,
  tempHome,
  type DashboardServer,
  type HeaderLines,
} from "../support/dashboard-server.ts";
import { runs } from "../support/runs.ts";

/** Secrets of a run that must not appear anywhere else. */
interface Run {
  readonly server: DashboardServer;
  /** Tokens, codes, attempted values, used and valid links, and session ids. */
  readonly secrets: Set<string>;
  readonly seen: string[];
  token: string;
  cookies: string[];
  n: number;
}

/**
 * A response without the places where a secret belongs: `Set-Cookie`, and a link created for the
 * caller.
 */
async function look(run: Run, answer: Response, own = ""): Promise<void> {
  const headers = [...answer.headers].filter(([name]) => name !== "set-cookie");
  const text = `${answer.status} ${JSON.stringify(headers)} ${await answer.text()}`;
  run.seen.push(own === "" ? text : text.replaceAll(own, ""));
  for (const kind of ["session", "setup"]) {
    const cookie = setCookieOf(answer, kind)?.split(";", 1)[0] ?? "";
    const [id = "", , signature = ""] = cookie.slice(cookie.indexOf("=") + 1).split(".");
    if (signature === "") continue;
    run.cookies.push(cookie);
    run.secrets.add(signature);
    if (kind === "session") run.secrets.add(id);
  }
}
/** The place where a secret appears, with the text around it. */
function leaks({ secrets, seen, server }: Run): string[] {
  const all = [inspect(server.facts, { depth: 9 }), server.logged(), ...seen].join("\n");
  return [...secrets].flatMap((secret) => {
    const at = all.indexOf(secret);
    return at < 0 ? [] : [all.slice(Math.max(0, at - 300), at + 100)];
  });
}
const fresh = (run: Run): string => {
  run.n += 1;
  const value = `planted-${run.n}-${"secret".repeat(1 + (run.n % 8))}`;
  run.secrets.add(value);
  return value;
};
const session = (run: Run): HeaderLines => ({
  cookie: run.cookies.at(-1) ?? "none=none",
  origin: run.server.origin,
});
const link = (run: Run): string => {
  const made = createLoginLink(run.server);
  run.secrets.add(made);
  return made;
};

/** One request for each action. */
const asks: Record<string, (run: Run) => Promise<Response>> = {
  "signs in as JSON": ({ server, token }) => server.post("/login", { token }),
  "signs in by a form": ({ server, token }) =>
    server.form("/login", { token, next: `/?token=${token}` }),
  "signs in by the address": ({ server, token }) => server.open(`/?token=${token}&a=1`),
  "signs in by a link": (run) => run.server.open(`/?token=${link(run)}`),
  "posts a link": (run) => run.server.post("/login", { token: link(run) }),
  "is wrong as JSON": (run) => run.server.post("/login", { token: fresh(run), next: fresh(run) }),
  "is wrong by a form": (run) => run.server.form("/login", { token: fresh(run) }),
  "is wrong by the address": (run) => run.server.open(`/?token=${fresh(run)}`),
  "is wrong by a program": (run) => run.server.get(`/?token=${fresh(run)}`),
  "is wrong by Bearer": (run) =>
    run.server.get("/api/status", { authorization: `Bearer ${fresh(run)}` }),
  "is right by Bearer": ({ server, token }) =>
    server.get("/api/status", { authorization: `Bearer ${token}` }),
  "offers two tokens": (run) => run.server.get(`/?token=${fresh(run)}&token=${run.token}`),
  "sends broken JSON": (run) =>
    raw(run, "application/json", `{"token":"${run.token}","x":${fresh(run)}`),
  "sends another type": (run) => raw(run, "text/plain", run.token),
  "comes from elsewhere": ({ server, token }) =>
    server.post("/login", { token }, { origin: "https://evil.example" }),
  "asks for another host": ({ server, token }) =>
    server.get(`/?token=${token}`, { host: "evil.example" }),
  "sets up with a wrong code": (run) => run.server.post("/setup", { code: fresh(run), keep: true }),
  "sets up with a weak token": ({ server, token }) =>
    server.form("/setup", { code: token, token: "weak secret", confirm: "weak secret" }),
  "signs out": (run) => run.server.post("/logout", undefined, session(run)),
};
const raw = ({ server }: Run, type: string, body: string): Promise<Response> =>
  server.request("/login", { method: "POST", headers: { "content-type": type }, body });

const longer: Record<string, (run: Run) => Promise<void>> = {
  async "puts a token where it does not belong"(run) {
    const value = fresh(run);
    for (const path of [
      `/nowhere?token=${value}`,
      `/login?token=${value}`,
      `/api/status?token=${value}`,
      `/setup?token=${value}&error=${value}`,
      `/login?link=${value}&error=${value}`,
    ]) {
      await look(run, await run.server.request(path, { headers: opened }));
    }
  },
  async "sets up with an own token"(run) {
    const own = fresh(run);
    const answer = await run.server.post("/setup", { code: run.token, token: own, confirm: own });
    if (answer.status === 200) run.token = own;
    await look(run, answer);
  },
  async "replaces the token"(run) {
    const { tokens, tokenSecrets } = run.server.kernel.services;
    if (run.server.kernel.state() !== "running" || tokens.info("launcher").managedByEnv) return;
    run.token = fresh(run);
    await tokenSecrets.replace("launcher", {
      value: run.token,
      expect: tokens.info("launcher").version,
    });
  },
  async "looks at the pages"(run) {
    for (const path of ["/", "/login", "/setup", "/nowhere", "/api/auth/status", "/api/status"]) {
      const answer = await run.server.request(path, { headers: { ...opened, ...session(run) } });
      await look(run, answer);
    }
  },
  async "makes a link"(run) {
    const answer = await run.server.post("/api/signin-links", undefined, session(run));
    const made = /ott_[\w-]+/.exec(await answer.clone().text())?.[0] ?? "";
    await look(run, answer, made);
    if (made === "") return;
    run.secrets.add(made);
    await look(run, await run.server.open(`/login?link=${made}`), made);
  },
  async "turns the channel on"(run) {
    const status = await run.server.get("/api/status", session(run));
    const { channel } = (await status.json()) as { channel?: { etag?: string } };
    const headers = {
      ...session(run),
      "content-type": "application/json",
      "if-match": channel?.etag ?? "x",
    };
    const body = JSON.stringify({
      enabled: true,
      allow_token_query: true,
      current: run.n % 2 === 0 ? run.token : fresh(run),
    });
    await look(
      run,
      await run.server.request("/api/channels/pico", { method: "PUT", headers, body }),
    );
  },
  async waits(run) {
    run.server.clock.increment(40_000);
  },
};

const names = [...Object.keys(asks), ...Object.keys(longer)];
const walk = fc.array(fc.constantFrom(...names), { minLength: 5, maxLength: 40 });
async function command(run: Run, name: string): Promise<void> {
  const ask = asks[name];
  if (ask) await look(run, await ask(run));
  else await longer[name]!(run);
}

describe("dashboard", () => {
  test("shows no secret in any event, log line or response", () =>
    fc.assert(
      fc.asyncProperty(fc.boolean(), walk, async (first, steps) => {
        await using folder = await tempHome();
        const given = "given-by-the-environment-0123456789-abcdefghi";
        const before = [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
        await using server = await startDashboard({
          home: folder.home,
          before,
          env: first ? {} : { SERVICE_LAUNCHER_TOKEN: given },
        });
        const file = JSON.parse(
          await readFile(join(folder.home, "launcher-config.json"), "utf8"),
        ) as { launcher_token?: string };
        const token = file.launcher_token ?? given;
        const run: Run = { server, token, secrets: new Set([token]), seen: [], cookies: [], n: 0 };
        for (const name of steps) await command(run, name);
        const security = await readFile(join(folder.home, ".security.yml"), "utf8").catch(() => "");
        for (const [made] of security.matchAll(/[0-9a-f]{64}/g)) run.secrets.add(made);
        expect(leaks(run)).toEqual([]);
      }),
      { numRuns: runs(25) },
    ));

  test("detects leaked secrets wherever they appear", async () => {
    await using server = await startDashboard();
    const run: Run = {
      server,
      token: TOKEN,
      secrets: new Set([TOKEN]),
      seen: [],
      cookies: [],
      n: 0,
    };
    for (const name of ["signs in as JSON", "is wrong as JSON", "looks at the pages"])
      await command(run, name);
    expect(run.secrets.size).toBe(5);
    expect(leaks(run)).toEqual([]);
    for (const secret of run.secrets) {
      expect(leaks({ ...run, seen: [...run.seen, `200 {"x":"${secret}"}`] })).toHaveLength(1);
    }
  });
});
