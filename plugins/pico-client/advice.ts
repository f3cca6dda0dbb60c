// Says what helps if the network path to the server fails.

const adviceByReason: Readonly<Record<string, string>> = {
  no_tls:
    "The server does not use TLS at this port. Write ws:// instead of wss:// in " +
    "channels.pico_client.url (-url), or name the port of the proxy that adds TLS.",
  certificate:
    "The certificate of the server is not trusted. Name the file of its authority in " +
    "channels.pico_client.ca_file.",
  proxy_refused:
    "The proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY rejected the connection. NO_PROXY can " +
    "exempt the host.",
};

/** @returns What the user can do about a failed connection with this reason, if it is known. */
export const connectionAdvice = (reason: string): string | undefined =>
  Object.hasOwn(adviceByReason, reason) ? adviceByReason[reason] : undefined;
