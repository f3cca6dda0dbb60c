// Finds the address of the remote channel that the tokens in the files belong to.
import { join } from "node:path";
import { readJson } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { Places } from "../load/index.ts";

/**
 * @returns `channels.pico_client.url` of `config.json`, without it that of the environment;
 * undefined without both.
 */
export async function filedUrl({
  home,
  env,
  brand = "service",
  config,
}: Places): Promise<string | undefined> {
  const content = await readJson(config ?? join(home, "config.json"));
  const url = ["channels", "pico_client", "url"].reduce<unknown>(
    (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
    content?.value,
  );
  const variable = `${brand.toUpperCase()}_CHANNELS_PICO_CLIENT_URL`;
  return [url, env[variable]].find((text) => typeof text === "string" && text.trim() !== "") as
    | string
    | undefined;
}
