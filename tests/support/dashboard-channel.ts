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
  type DashboardStand,
  type StandOptions,
} from "./dashboard-server.ts";

export const pico = (): AnyPlugin[] => [channels(), picoServer()] as unknown as AnyPlugin[];
export const bearer = { authorization: `Bearer ${TOKEN}` };

/** Starts a launcher with a channel in a temporary home. */
export async function withChannel(
  visit: (stand: DashboardStand, home: string) => Promise<void>,
  { config, ...options }: StandOptions & { config?: string } = {},
): Promise<void> {
  await using folder = await tempHome();
  if (config !== undefined) await writeFile(join(folder.home, "config.json"), config);
  const env = { SERVICE_LAUNCHER_TOKEN: TOKEN, ...options.env };
  await using stand = await startDashboard({ before: pico(), ...options, home: folder.home, env });
  await visit(stand, folder.home);
}
export interface Channel {
  readonly enabled: boolean;
  readonly etag?: string;
  readonly enabledManagedBy?: string;
  readonly url: string;
}
export const channelOf = async (stand: DashboardStand): Promise<Channel> =>
  ((await (await stand.get("/api/status", bearer)).json()) as { channel: Channel }).channel;
