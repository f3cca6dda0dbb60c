import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { channels } from "../../plugins/channels/index.ts";
import { echo } from "../../plugins/echo/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  startDashboard,
  tempHome,
  TOKEN,
  type DashboardServerOptions,
} from "./dashboard-server.ts";
import { raw, type RawAnswer } from "./http-client.ts";

export const PICO_TOKEN = "feedfacecafe".repeat(5);

/** Starts dashboard and channel on one port with real files and an echo application. */
export async function startLauncherServer(
  launcher: Record<string, unknown> = {},
  options: DashboardServerOptions = {},
) {
  const folder = await tempHome();
  const put = (name: string, text: string) =>
    writeFile(join(folder.home, name), text, { mode: 0o600 });
  await put("launcher-config.json", JSON.stringify({ launcher_token: TOKEN, ...launcher }));
  await put("config.json", '{"channels":{"pico":{"enabled":true}}}');
  await put(".security.yml", `channels:\n  pico:\n    token: ${PICO_TOKEN}\n`);
  const dashboard = await startDashboard({
    home: folder.home,
    before: [channels(), picoServer({ enabled: false })],
    plugins: [echo()],
    ...options,
  });
  return {
    ...dashboard,
    home: folder.home,
    /** Bytes as they are; every answer must carry the safety headers. */
    async attack(bytes: string | Buffer): Promise<RawAnswer> {
      const answer = await raw(dashboard.port, bytes);
      expectSafe(answer);
      return answer;
    },
    async [Symbol.asyncDispose]() {
      await dashboard[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
export type LauncherServer = Awaited<ReturnType<typeof startLauncherServer>>;

/** Builds a request whose connection closes after the response. */
export const request = (
  start: string,
  lines: readonly string[] = ["Host: localhost"],
  body = "",
): Buffer =>
  Buffer.from(
    [`${start} HTTP/1.1`, ...lines, "Connection: close", "", body].join("\r\n"),
    "latin1",
  );

export function expectSafe({ headers, status }: RawAnswer): void {
  expect({ status, ...headers }).toMatchObject({
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "content-security-policy": expect.stringContaining("frame-ancestors 'none'") as string,
  });
  expect(headers["server"] ?? headers["x-powered-by"]).toBeUndefined();
}
