/** The protocols of other products that the application can be reached through. @module */

/** Names of the tokens of protocols. */
export const protocolTokens = ["openai", "ai_sdk", "ag_ui"] as const;
export type ProtocolToken = (typeof protocolTokens)[number];

/** One protocol: the names that pages, commands and settings use for it. */
interface ProtocolName {
  /** Its section of the settings. */
  readonly section: string;
  /** Name of its token, and last part of `PUT /api/channels/NAME`. */
  readonly name: ProtocolToken;
  readonly title: string;
  /** Name of its clients, for pages. */
  readonly clients: string;
  /** One sentence for people who look for a way to connect. */
  readonly purpose: string;
  /** Base path for clients. */
  readonly path: string;
}

/** A protocol of another product, for the page Clients. */
export interface ProtocolView extends Pick<ProtocolName, "name" | "title" | "clients" | "purpose"> {
  readonly enabled: boolean;
  /** The environment variable that sets `enabled`; the page then cannot change it. */
  readonly enabledManagedBy?: string;
  /** Base URL, as seen from the requesting browser. */
  readonly url: string;
  /** The model name that clients send, if the protocol has one. */
  readonly model?: string;
  /** For `If-Match` of `PUT /api/channels/NAME`; undefined if settings cannot be changed. */
  readonly etag?: string;
}

/** One protocol, for commands and doctor checks. */
export interface ProtocolStatus {
  /** Also the name of its token. */
  readonly name: string;
  /** Name for people. */
  readonly title: string;
  /** Whether the setting `enabled` of its section is on. */
  readonly enabled: boolean;
  /** Base URL for clients on this machine; absent before the port is open. */
  readonly url?: string;
}

/** In the order in which pages and commands list them. */
export const protocolNames: readonly ProtocolName[] = [
  {
    section: "channels.openai",
    name: "openai",
    title: "OpenAI API",
    clients: "OpenAI clients",
    purpose:
      "OpenAI libraries, Open WebUI and LibreChat can use the application as a language model, " +
      "with a token of their own.",
    path: "/v1",
  },
  {
    section: "channels.ai_sdk",
    name: "ai_sdk",
    title: "AI SDK",
    clients: "AI SDK pages",
    purpose:
      "Pages with useChat of the AI SDK can talk to the application, and resume replies after a " +
      "lost connection.",
    path: "/ai",
  },
  {
    section: "channels.ag_ui",
    name: "ag_ui",
    title: "AG-UI",
    clients: "AG-UI front ends",
    purpose: "Front ends with HttpAgent of AG-UI can talk to the application.",
    path: "/ag-ui",
  },
];
