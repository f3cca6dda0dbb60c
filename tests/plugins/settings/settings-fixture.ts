// Starts the settings plugin with two sample plugins on a temporary home.
import { load, type Environment } from "../../../config/load/index.ts";
import type { Plugin } from "../../../kernel/index.ts";
import { withKernel, type LogEntry } from "../../../kernel/testing.ts";
import { settings, type Settings, type SettingsEvents } from "../../../plugins/settings/index.ts";
import { z } from "zod";
import type { Home } from "../../support/token-store-harness.ts";

const editable = { editable: true };
const picoSchema = z.strictObject({
  enabled: z.boolean().default(false).meta(editable),
  limit: z.int().min(1).max(100).default(5).meta(editable),
  secret_path: z.string().default(""),
});
const pageSchema = z.strictObject({
  title: z.string().default("Dashboard").meta(editable),
  host: z.string().default("127.0.0.1"),
});
export type Pico = z.output<typeof picoSchema>;

export interface SettingsFixture {
  readonly settings: Settings;
  readonly events: readonly object[];
  readonly lines: readonly LogEntry[];
  /** The current settings of the pico plugin. */
  running(): Pico;
  etag(section: string): Promise<string>;
}
interface FixtureOptions {
  readonly env?: Environment;
  /** Runs before the pico plugin applies a change; an error rejects the change. */
  readonly beforeChange?: (next: Pico) => void | Promise<void>;
}

export async function withSettings(
  home: Home,
  visit: (fixture: SettingsFixture) => Promise<void>,
  { env = {}, beforeChange }: FixtureOptions = {},
): Promise<void> {
  let current: Pico | undefined;
  const pico: Plugin<{ config: Pico }> = {
    name: "pico",
    api: 1,
    config: { section: "channels.pico", schema: picoSchema },
    start({ config, onConfig }) {
      current = config();
      onConfig(async (next, before) => {
        await beforeChange?.(next);
        current = next;
        return next.limit === before.limit ? undefined : { afterRestart: ["limit"] };
      });
    },
  };
  const page: Plugin<{ config: z.output<typeof pageSchema> }> = {
    name: "page",
    api: 1,
    config: { section: "launcher", schema: pageSchema },
    start: () => undefined,
  };
  const { config, sources } = await load([pico, page], { home: home.path, env });
  const events: object[] = [];
  await withKernel(
    [settings(sources), pico, page],
    async ({ kernel, lines }) => {
      const service = kernel.services.settings;
      for (const type of [
        "settings:changed",
        "settings:rejected",
      ] as const satisfies (keyof SettingsEvents)[]) {
        kernel.on(type, (event) => void events.push({ type, ...event }));
      }
      const etag = async (section: string): Promise<string> =>
        (await service.describe()).find((found) => found.section === section)?.etag ?? "";
      await visit({ settings: service, events, lines, running: () => current!, etag });
    },
    { config },
  );
}

export const formattedByHand = `{ "mine":   [1,2],
\t"channels": { "pico": {"enabled":false, "token": "correct-horse-battery"} },
  "handler":"echo" }
`;
