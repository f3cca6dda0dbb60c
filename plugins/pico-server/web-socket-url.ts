/** The same place for a WebSocket: `ws:` where the base is `http:`, `wss:` where it is `https:`. */
export function toWebSocketUrl(path: string, base: URL): string {
  const url = new URL(path, base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
