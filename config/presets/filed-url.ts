// Finds the address of the remote channel that the tokens in the files belong to.
import { join } from "node:path";
import { readJson } from "../../lib/files/index.ts";
import { valueAt } from "../../lib/util.ts";
import type { Places } from "../load/index.ts";

/**
 * @returns `channels.pico_client.url` of `config.json`, without it that of the environment;
 * undefined without both.
 */
export async function filedUrl({ home, env, config }: Places): Promise<string | undefined> {
  const content = await readJson(config ?? join(home, "config.json"));
  const url = valueAt(content?.value, "channels", "pico_client", "url");
  return [url, env["SERVICE_CHANNELS_PICO_CLIENT_URL"]].find(
    (text): text is string => typeof text === "string" && text.trim() !== "",
  );
}
