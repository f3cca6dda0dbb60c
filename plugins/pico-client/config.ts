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

/** The section `channels.pico_client`; the token is none of its fields, the token store holds it. */
export const picoClientSchema = z.strictObject({
  enabled: z.boolean().default(false).meta({
    editable: true,
    title: "Client on",
    description: "Connects to the channel of another service.",
  }),
  url: z
    .string()
    .trim()
    .max(2_000)
    .refine(isChannelUrl, "expected ws://host:port/pico or wss://host/pico")
    .default("")
    .meta({
      editable: true,
      title: "Address",
      description: "Of that channel, as in wss://other.example.org/pico.",
    }),
  ca_file: z.string().max(4_096).default("").meta({
    title: "Certificates",
    description: "A file (PEM) of those to trust beside the system's, for wss:.",
  }),
});

export type PicoClientConfig = z.output<typeof picoClientSchema>;
/** The section as users write it. */
export type PicoClientInput = z.input<typeof picoClientSchema>;
