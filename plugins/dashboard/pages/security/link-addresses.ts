// Reads the address of a sign-in link and the time left.
/** The time left until `until`: `4:32`. */
export function countdownLabel(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

const isLoopback = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** True if other devices cannot open the address. */
export const isLocalOnly = (url: string): boolean =>
  URL.canParse(url) && isLoopback(new URL(url).hostname);

/** Returns the addresses of the dashboard that other devices can reach. */
export const reachable = (addresses: readonly string[]): readonly string[] =>
  addresses.filter((address) => URL.canParse(address) && !isLocalOnly(address));
