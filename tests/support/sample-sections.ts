import { z } from "zod";
import { type AnyPlugin } from "../../kernel/index.ts";
import { plugin } from "./sample-plugins.ts";

const tls = z.strictObject({
  cert: z.string().default(""),
  key: z.string().default(""),
  required: z.boolean().default(false),
});

export const launcher = z.strictObject({
  port: z.int().default(18_800),
  host: z.string().default("127.0.0.1"),
  tls: tls.prefault({}),
});

export const pico = z.strictObject({
  enabled: z.boolean().default(false),
  allow_origins: z.array(z.string()).default([]),
  max_connections: z.int().min(1).default(100),
  ratio: z.number().default(0.5),
});

/** A plugin that reads one configuration section. */
export const part = (name: string, section: string, schema: object): AnyPlugin =>
  plugin(name, undefined, { config: { section, schema } });
