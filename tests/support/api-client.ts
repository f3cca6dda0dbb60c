import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AnyPlugin } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  signedIn,
  startDashboard,
  tempHome,
  TOKEN,
  type DashboardStand,
  type Lines,
  type StandOptions,
} from "./dashboard-server.ts";

export const PICO = "6f1c0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";
export { TOKEN };

export interface Office extends DashboardStand {
  readonly home: string;
  /** Headers of a signed-in browser. */
  readonly session: { readonly cookie: string };
  /** JSON of a response with its status. */
  ask(method: string, path: string, body?: unknown, headers?: Lines): Promise<Asked>;
}
export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

/** Starts a launcher with files, the channel turned on and a signed-in browser. */
export async function withOffice(
  visit: (office: Office) => Promise<void>,
  { config = {}, env = {}, ...options }: StandOptions & { config?: object } = {},
): Promise<void> {
  await using folder = await tempHome();
  const { home } = folder;
  await writeFile(join(home, "launcher-config.json"), JSON.stringify({ launcher_token: TOKEN }), {
    mode: 0o600,
  });
  await writeFile(
    join(home, "config.json"),
    JSON.stringify({ channels: { pico: { enabled: true } }, ...config }),
  );
  await writeFile(join(home, ".security.yml"), `channels:\n  pico:\n    token: ${PICO}\n`, {
    mode: 0o600,
  });
  const before = [channels(), picoServer()] as unknown as AnyPlugin[];
  await using stand = await startDashboard({ before, ...options, home, env });
  const session = await signedIn(stand, env["SERVICE_LAUNCHER_TOKEN"] ?? TOKEN);
  const ask: Office["ask"] = async (method, path, body, headers = session) => {
    const json = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await stand.request(path, {
      method,
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text.startsWith("{") ? JSON.parse(text) : text,
    };
  };
  await visit({ ...stand, home, session, ask });
}
