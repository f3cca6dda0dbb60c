import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SimulatedClock } from "xstate";
import { createKernel } from "../../../kernel/index.ts";
import { capturedLog, type LogEntry } from "../../../kernel/testing.ts";
import { load } from "../../../config/load/index.ts";
import { dashboard, type DashboardOptions } from "../../../plugins/dashboard/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { settings } from "../../../plugins/settings/index.ts";
import { files, memory, tokenStore, type StoreForm } from "../../../plugins/token-store/index.ts";

/** 43 characters, as generated ones are. */
export const TOKEN = "correct-horse-battery-staple-0123456789-abc";

export interface StandOptions {
  /** Default: a memory store that holds `TOKEN`. */
  readonly form?: StoreForm;
  readonly launcher?: Record<string, unknown>;
  readonly dashboard?: DashboardOptions;
  readonly host?: string;
  readonly basePath?: string;
  /** Tokens and settings in real files of this folder. */
  readonly home?: string;
}

/** A real dashboard on a free port, with a clock that stands still. */
export async function startDashboard(options: StandOptions = {}) {
  const clock = new SimulatedClock();
  clock.set(1_700_000_000_000);
  const { log, lines } = capturedLog();
  const listener = http({ port: 0, ...(options.host ? { host: options.host } : {}), ...(options.basePath ? { basePath: options.basePath } : {}) });
  const board = dashboard(options.dashboard);
  const home = options.home;
  const loaded = home ? await load([listener, board], { home, env: {} }) : undefined;
  const form = options.form ?? (home ? files({ home, env: {} }) : memory({ launcher: TOKEN }));
  const config = { launcher: { ...loaded?.config["launcher"], ...options.launcher } };
  const kernel = loaded
    ? createKernel([tokenStore(form), settings(loaded.sources), listener, board], { clock, log, config })
    : createKernel([tokenStore(form), listener, board], { clock, log, config });
  const facts: { type: string; fact: unknown }[] = [];
  for (const type of ["dashboard:signed-in", "dashboard:signed-out", "dashboard:sign-in-refused"] as const) {
    kernel.on(type, (fact) => void facts.push({ type, fact }));
  }
  await kernel.start();
  const base = kernel.services.http.addresses()[0]!;
  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(new URL(path, base), { redirect: "manual", ...init });
  return {
    kernel, clock, facts, base, request,
    lines: lines as readonly LogEntry[],
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      request(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    form: (path: string, fields: Record<string, string> | string, headers: Record<string, string> = {}) =>
      request(path, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body: new URLSearchParams(fields).toString(),
      }),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type DashboardStand = Awaited<ReturnType<typeof startDashboard>>;

/** `name=value` of the first cookie whose name contains `kind`, as a browser would send it back. */
export function cookieFrom(response: Response, kind = "session"): string {
  const set = response.headers.getSetCookie().find((line) => line.includes(`_${kind}_`));
  if (!set) throw new Error(`no ${kind} cookie was set`);
  return set.split(";", 1)[0]!;
}

export async function signedIn(stand: DashboardStand, token = TOKEN): Promise<{ cookie: string }> {
  return { cookie: cookieFrom(await stand.post("/login", { token })) };
}

export async function tempHome(): Promise<{ home: string; remove(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), "doorward-"));
  return { home, remove: () => rm(home, { recursive: true, force: true }) };
}
