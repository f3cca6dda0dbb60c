import * as z from "zod";

const isAddress = (text: string): boolean => {
  if (text === "") return true;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^(?:ws|http)s?:$/.test(url.protocol) && url.username === "" && url.password === "";
};

/** The section `channels.pico_client`; the token is none of its fields, the token store holds it. */
export const picoClientSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("connects to the channel of another service; default false")
    .meta({ editable: true }),
  url: z.string().trim().max(2_000).refine(isAddress, "expected ws://host:port/pico or wss://host/pico")
    .default("").describe("address of that channel: ws://<host>:<port>/pico").meta({ editable: true }),
  ca_file: z.string().max(4_096).default("")
    .describe("file with certificates (PEM) to trust beside those of the system, for wss:; default none"),
});

export type PicoClientConfig = z.output<typeof picoClientSchema>;
