import * as z from "zod";

const argument = z
  .string()
  .max(32_768)
  .refine((text) => !text.includes("\0"), "a word without NUL");

/** `handler` in `config.json`, when it is a program. Never editable over HTTP: it runs as the owner. */
export const handlerSchema = z.strictObject({
  /** Program and arguments, as the system takes them: no shell reads them. */
  command: z
    .tuple([argument.min(1)], argument)
    .refine((words) => words.length <= 256, "at most 256 words"),
  /** Working directory; default: the folder of `config.json`. */
  cwd: argument.min(1).optional(),
  /** Variables beside those the launcher was started with. */
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), argument).default({}),
  /** After which ends it is started again. */
  restart: z.enum(["always", "on-failure", "never"]).default("always"),
  /** Seconds without a sign of a message until its sender gets `no_answer`; 0: for ever. */
  timeout_s: z.number().min(0).max(86_400).default(120),
});
export type HandlerConfig = z.output<typeof handlerSchema>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a program may know of our environment: nothing that is ours, whatever it is called. */
export function programEnvironment(
  env: Environment,
  prefix: string,
  more: Environment = {},
): Record<string, string> {
  const isOurs = (name: string): boolean =>
    name.toUpperCase().startsWith(`${prefix.toUpperCase()}_`);
  const kept = Object.entries(env).filter(([name]) => !isOurs(name));
  const all = [...kept, ...Object.entries(more)];
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
