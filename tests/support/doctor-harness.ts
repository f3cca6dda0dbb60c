import { runDoctor, type CheckView } from "../../config/doctor/index.ts";
import type { DoctorFacts, TestResult } from "../../plugins/dashboard/index.ts";
import type { Home } from "./token-store-harness.ts";

export const NOW = Date.now();

export interface Options {
  readonly env?: Record<string, string>;
  readonly running?: Partial<DoctorFacts>;
  readonly codes?: Partial<Record<TestResult["method"], string>>;
}

/** Runs the checks of a home and returns them by id. The channel of a running launcher is on by
 *  default. */
export async function checks(
  home: Home,
  { env = {}, running, codes }: Options = {},
): Promise<Record<string, CheckView>> {
  const good = {
    header: "101",
    subprotocol: "101",
    query: "token_query_disabled",
    requests: "200",
    ...codes,
  };
  const facts: DoctorFacts = {
    state: "running",
    now: NOW,
    addresses: [new URL("http://127.0.0.1:18800/")],
    tokens: [],
    refusals: [],
    channel: { enabled: true, path: "/pico" },
    protocols: [],
    handshakes: async () =>
      Object.entries(good).map(([method, code]) => ({
        method: method as TestResult["method"],
        code,
        ok: code === "101" || code === "200",
        ms: 1,
      })),
    ...running,
  };
  const found = await runDoctor({
    home: home.path,
    env,
    now: NOW,
    ...(running || codes ? { running: facts } : {}),
  });
  return Object.fromEntries(found.map((check) => [check.id, check]));
}
