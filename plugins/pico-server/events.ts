export type PicoServerEvents = {
  /** 101 was sent. */
  "pico-server:connected": {
    connection: string;
    session: string;
    address: string;
    method: "header" | "subprotocol" | "query" | "dashboard";
  };
  /** The socket is gone. */
  "pico-server:disconnected": {
    connection: string;
    session: string;
    code: number;
    reason: string;
    initiator: "client" | "server" | "network";
  };
  /** A handshake or request was refused. `method`: how the token came, absent without one; `origin`: the page that is
   *  not allowed; `retryAfterSeconds`: the address tried too many wrong tokens. */
  "pico-server:refused": {
    code: string;
    address: string;
    method?: "header" | "subprotocol" | "query";
    origin?: string;
    retryAfterSeconds?: number;
  };
};
