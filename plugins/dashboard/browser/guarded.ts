/** Which changes of the settings ask for a token again. Pure: the server asks for it, and the page before it has to. */

/** Fields that widen who gets in, or for how long: changing them asks for the launcher token. */
export const guardedFields: ReadonlySet<string> = new Set([
  "allow_origins",
  "allow_token_query",
  "allowed_hosts",
  "allowed_origins",
  "keep_sign_ins",
]);

/** Scheme and host of an address. Where the client is sent to another one, it is the remote token that is shown
 *  there. */
export function originOf(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return `${protocol}//${host}`;
}
