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
  /** A handshake or request was refused. */
  "pico-server:refused": { code: string; address: string };
};
