import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AnyPlugin } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  signIn,
  startDashboard,
  tempHome,
  TOKEN,
  type DashboardServer,
  type HeaderLines,
  type DashboardServerOptions,
} from "./dashboard-server.ts";

export const PICO = "6f1c0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab";
export { TOKEN };

export interface ApiClient extends DashboardServer {
  readonly home: string;
  /** Headers of a signed-in browser. */
  readonly session: { readonly cookie: string };
  /** JSON of a response with its status. */
  ask(method: string, path: string, body?: unknown, headers?: HeaderLines): Promise<ApiResponse>;
}
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

/** Starts a launcher with files, the channel turned on and a signed-in browser. */
export async function withApi(
  visit: (api: ApiClient) => Promise<void>,
  { config = {}, env = {}, ...options }: DashboardServerOptions & { config?: object } = {},
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
  const before = [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
  await using server = await startDashboard({ before, ...options, home, env });
  const session = await signIn(server, env["SERVICE_LAUNCHER_TOKEN"] ?? TOKEN);
  const ask: ApiClient["ask"] = async (method, path, body, headers = session) => {
    const json = body === undefined ? {} : { "content-type": "application/json" };
    const answer = await server.request(path, {
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
  await visit({ ...server, home, session, ask });
}
