// Schema of a `handler` that runs a program, and the environment such a program receives.
import * as z from "zod";

const argument = z
  .string()
  .max(32_768)
  .refine((text) => !text.includes("\0"), "text without NUL characters");

const suggestionRule = "one line of 1 to 80 characters that is not blank";

/**
 * Schema of `handler` in `config.json` for a program.
 * Cannot be edited over HTTP, because the program runs with the rights of the owner.
 */
export const handlerSchema = z.strictObject({
  /** Program and arguments, passed to the operating system without a shell. */
  command: z
    .tuple([argument.min(1)], argument)
    .refine((words) => words.length <= 256, "at most 256 arguments"),
  /** Working directory. Default: the folder of `config.json`. */
  cwd: argument.min(1).optional(),
  /** Environment variables added to the environment of the launcher. */
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), argument).default({}),
  /** The folder that the program may send files from. Default: a private folder for each run. */
  media_dir: argument.min(1).optional(),
  /** Exits after which the program is restarted. */
  restart: z.enum(["always", "on-failure", "never"]).default("always"),
  /** Seconds without activity on a message until its sender receives `no_answer`; 0 = never. */
  timeout_s: z.number().min(0).max(86_400).default(120),
  /** Seconds after a stop in which the program must end its reply. */
  stop_grace_s: z.number().min(1).max(3_600).default(10),
  /** Seconds after which each question of the program expires; 0 = when the program says. */
  question_max_s: z.number().min(0).max(604_800).default(0),
  /** Messages that the chat page offers to begin with. Default: those of the page. */
  suggestions: z
    .array(z.string().refine((text) => /^(?=.*\S).{1,80}$/.test(text), suggestionRule))
    .max(4, "a list of at most 4 texts")
    .optional(),
});
/** Validated `handler` section of a program. */
export type HandlerConfig = z.output<typeof handlerSchema>;

/** Environment variables; an undefined value means that the variable is not set. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Creates the environment of a program. Removes every variable that starts with `PREFIX_`,
 * because it may hold a secret or a setting of Doorward.
 *
 * @param env - Environment of this process.
 * @param prefix - Prefix of Doorward's variables, without the underscore; compared without case.
 * @param more - Variables to add. They may start with the prefix. @defaultValue `{}`
 */
export function programEnvironment(
  env: Environment,
  prefix: string,
  more: Environment = {},
): Record<string, string> {
  const isOfDoorward = (name: string): boolean =>
    name.toUpperCase().startsWith(`${prefix.toUpperCase()}_`);
  const inherited = Object.entries(env).filter(([name]) => !isOfDoorward(name));
  const all = [...inherited, ...Object.entries(more)];
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
