// Starts a dashboard with a pico channel, for the tests of both.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AnyPlugin } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  TOKEN,
  startDashboard,
  tempHome,
  type DashboardServer,
  type DashboardServerOptions,
} from "./dashboard-server.ts";

export const pico = (): AnyPlugin[] =>
  [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
export const bearer = { authorization: `Bearer ${TOKEN}` };

/** Starts a launcher with a channel in a temporary home. */
export async function withChannel(
  visit: (server: DashboardServer, home: string) => Promise<void>,
  { config, ...options }: DashboardServerOptions & { config?: string } = {},
): Promise<void> {
  await using folder = await tempHome();
  if (config !== undefined) await writeFile(join(folder.home, "config.json"), config);
  const env = { SERVICE_LAUNCHER_TOKEN: TOKEN, ...options.env };
  await using server = await startDashboard({ before: pico(), ...options, home: folder.home, env });
  await visit(server, folder.home);
}
export interface Channel {
  readonly enabled: boolean;
  readonly etag?: string;
  readonly enabledManagedBy?: string;
  readonly url: string;
}
export const channelOf = async (server: DashboardServer): Promise<Channel> =>
  ((await (await server.get("/api/status", bearer)).json()) as { channel: Channel }).channel;
