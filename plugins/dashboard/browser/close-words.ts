const names: Readonly<Record<number, string>> = {
  1000: "The connection was ended.",
  1008: "The session of this browser has ended, and the connection with it. Connect again once you are signed in.",
  4400: "The channel closed the connection because of malformed messages.",
  4401: "The channel has no token any more.",
  4403: "The owner of this service disconnected this connection.",
  4409: "This conversation was continued by another connection.",
};

/** Why a connection is over for good. */
export function closeWords(code: number, reason: string): string {
  return names[code] ?? `The connection was closed (${code}${reason === "" ? "" : `, ${reason}`}).`;
}
