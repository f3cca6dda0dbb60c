// Fills the address of this service into code of the documentation.
import { base } from "../live/base.ts";

/** The address in all examples. `scripts/docs-nodes.mjs` looks for it as well. */
const exampleAddress = /\b(http|ws):\/\/127\.0\.0\.1:18800(?=(\/(?:api|metrics)\b)?)/g;

/**
 * Replaces the address of the examples.
 *
 * @param channel - URL of the channel. Clients connect there, which may be another port.
 */
export function withAddress(text: string, channel: string | undefined): string {
  const own = location.origin + base();
  const forClients = channel?.replace(/^ws/, "http").replace(/\/pico$/, "") ?? own;
  return text.replace(
    exampleAddress,
    (_, scheme: string, isOwn?: string) =>
      scheme + (isOwn === undefined ? forClients : own).slice("http".length),
  );
}
