// Schema of the section `channels.pico_client`.
import * as z from "zod";

const isChannelUrl = (text: string): boolean => {
  if (text === "") return true;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return (
    url !== undefined &&
    /^(?:ws|http)s?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === ""
  );
};

/** The token is not part of the section; the token store keeps it. */
export const picoClientSchema = z.strictObject({
  enabled: z.boolean().default(false).meta({
    editable: true,
    section: "remote",
    title: "Client",
    description: "Connects to the pico channel of another service.",
  }),
  url: z
    .string()
    .trim()
    .max(2_000)
    .refine(isChannelUrl, "expected ws://host:port/pico or wss://host/pico")
    .default("")
    .meta({
      editable: true,
      section: "remote",
      title: "Server address",
      description: "The channel to connect to, for example wss://other.example.org/pico.",
    }),
  ca_file: z.string().max(4_096).default("").meta({
    title: "CA file",
    description: "PEM file with certificates to trust in addition to the built-in ones, for wss:.",
  }),
});

/** Validated section `channels.pico_client`. */
export type PicoClientConfig = z.output<typeof picoClientSchema>;
/** Section as users write it. */
export type PicoClientInput = z.input<typeof picoClientSchema>;
