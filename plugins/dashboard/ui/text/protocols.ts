/** The protocols of other products that the application can be reached through. @module */

/** One protocol: the names that pages, commands and settings use for it. */
interface ProtocolName {
  /** Its section of the settings. */
  readonly section: string;
  /** Name of its token, and last part of `PUT /api/channels/NAME`. */
  readonly name: "openai";
  readonly title: string;
  /** Base path for clients. */
  readonly path: string;
}

/** In the order in which pages and commands list them. */
export const protocolNames: readonly ProtocolName[] = [
  { section: "channels.openai", name: "openai", title: "OpenAI API", path: "/v1" },
];
