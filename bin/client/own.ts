import type { CommandContext } from "../commands/command.ts";
import { askLauncher } from "../commands/local.ts";

/** The pico channel of the launcher that runs for this home: its owner need not name it. `undefined`: no launcher runs,
 *  or its channel is off. */
export async function findOwnChannel(
  call: CommandContext,
): Promise<{ url: string; token: string } | undefined> {
  const status = await askLauncher<{ channelUrl?: string }>(call, "GET", "status");
  const url = status?.status === 200 ? status.body.channelUrl : undefined;
  if (url === undefined) return undefined;
  const shown = await askLauncher<{ token: string }>(call, "POST", "token/show", { name: "pico" });
  return shown?.status === 200 ? { url, token: shown.body.token } : undefined;
}
