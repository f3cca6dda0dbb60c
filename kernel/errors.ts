// The error class, the helper for tables of errors, and the table of the kernel.
import { didYouMean } from "./suggest.ts";

/** Additional data of an error. */
export interface ErrorContext {
  /** Values for programs and for the log; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error that led to this one, for the log. @defaultValue none */
  readonly cause?: unknown;
}

/**
 * The only error class. Programs branch on `code`; `message` is one sentence that a person can act
 * on.
 */
export class DoorwardError extends Error {
  /**
   * Recognise the error by this name, or with `codeOf`: two copies of the package may be loaded.
   */
  override readonly name = "DoorwardError";
  /**
   * Stable identifier of the error. Upper case for errors of configuration and start, lower case
   * for errors of calls; `docs/errors.md` lists both.
   */
  readonly code: string;
  /** Values for programs and for the log; empty without any. Never a secret. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, { details = {}, cause }: ErrorContext = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

type MessageTemplate = string | ((...values: any[]) => string);
type ErrorFactory<T> = T extends (...values: infer A) => string
  ? (...args: [...values: A, context?: ErrorContext]) => DoorwardError
  : (context?: ErrorContext) => DoorwardError;

type ErrorFactories<T> = { readonly [K in keyof T]: ErrorFactory<T[K]> };

/**
 * Turns a table of `code: sentence` into error factories. A sentence may be a function of the
 * values it contains.
 *
 * @example
 * import { errorTable } from "doorward";
 * const errors = errorTable({ PORT_IN_USE: (port: number) => `Port ${port} is in use.` });
 * throw errors.PORT_IN_USE(8080);
 */
export function errorTable<const T extends Record<string, MessageTemplate>>(
  table: T,
): ErrorFactories<T> {
  const made = Object.entries<MessageTemplate>(table).map(([code, sentence]) => {
    const say = typeof sentence === "string" ? () => sentence : sentence;
    return [
      code,
      (...args: any[]) => new DoorwardError(code, say(...args), args[say.length] as ErrorContext),
    ];
  });
  return Object.fromEntries(made) as ErrorFactories<T>;
}

/**
 * @returns The code of a DoorwardError, otherwise `internal`. Does not use `instanceof`, because
 * two copies of the package may be loaded.
 */
export function codeOf(error: unknown): string {
  const own = error as { name?: unknown; code?: unknown } | null | undefined;
  return own?.name === "DoorwardError" && typeof own.code === "string" ? own.code : "internal";
}

export const kernelErrors = errorTable({
  KERNEL_PLUGIN_NAME: (name: string) =>
    `"${name}" is not a plugin name: use lower-case words joined by hyphens.`,
  KERNEL_CLOCK: 'The clock has no function "monotonic": implement every member of Clock.',
  KERNEL_NOT_A_PLUGIN: (place: number, what: string, fix: string) =>
    `Place ${place} of the plugin list holds ${what}, which isn't a plugin: ${fix}.`,
  KERNEL_PLUGIN_API: (name: string, api: unknown) =>
    api === undefined
      ? `Plugin "${name}" does not name its version of the plugin contract: add "api: 1".`
      : `Plugin "${name}" was made for version ${String(api)} of the plugin contract; ` +
        'this kernel takes "api: 1".',
  KERNEL_DUPLICATE_PLUGIN: (name: string) =>
    `Two plugins are named "${name}". Only one can be used: remove or rename the other one.`,
  KERNEL_NEED_UNMET: (plugin: string, need: string, offered: readonly string[]) =>
    offered.includes(need)
      ? `Plugin "${plugin}" reads needs.${need} undeclared: add needs: { ${need}: true } to it.`
      : `Plugin "${plugin}" needs the service "${need}", which no earlier plugin offers.` +
        didYouMean(need, offered),
  KERNEL_START_SLOW: (plugin: string, seconds: number) =>
    `Plugin "${plugin}" did not start within ${seconds} s.`,
  KERNEL_SERVICE_TAKEN: (plugin: string, service: string) =>
    `Plugin "${plugin}" offers the service "${service}", which another plugin offers already.`,
  KERNEL_FOREIGN_FACT: (plugin: string, type: string) =>
    `Plugin "${plugin}" emitted "${type}"; a plugin may only emit events named "${plugin}:…".`,
  KERNEL_NOT_DRIVER: (plugin: string) =>
    `Plugin "${plugin}" sent a lifecycle command without declaring that it drives the lifecycle.`,
  KERNEL_UNKNOWN_SECTION: (path: string, hint: string) =>
    `No plugin reads the configuration section "${path}".${hint}`,
  KERNEL_UNKNOWN_KEY: (path: string, hint: string) => `"${path}" is not a setting.${hint}`,
  KERNEL_TOKEN_IN_CONFIG: (path: string) =>
    `"${path}" holds a token; tokens belong to the token store, not to the configuration.`,
  KERNEL_BAD_CONFIG: (path: string, problem: string) =>
    `The setting "${path}" is not valid: ${problem}.`,
  KERNEL_BUSY: "The kernel is already started; stop it before starting it again.",
  KERNEL_START_ABORTED: "Startup was aborted.",
});
