// Token backends that take one token from elsewhere: a file, a value or another name.
import { constants } from "node:fs";
import { open, stat } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { TokenBackend, TokenName } from "../../plugins/token-store/index.ts";
import { describeErrno, watchFiles } from "../../lib/files/index.ts";
import { presetErrors } from "./errors.ts";

const maxTokenBytes = 4_096;

interface TokenFileOptions {
  readonly name: TokenName;
  readonly path: string;
  /** Called with every value that is read. */
  readonly secret?: (value: string) => void;
  /** Milliseconds to wait for the process that writes to a pipe. @defaultValue `5_000` */
  readonly pipeMs?: number;
}

/**
 * Takes one token from a file that contains nothing else, as systemd and containers provide them,
 * and the others from `others`. Reads the file again when it changes and never writes it.
 *
 * @throws TOKEN_FILE_UNREADABLE if the file has no token.
 */
export function withTokenFile(
  others: TokenBackend,
  { name, path, secret, pipeMs = 5_000 }: TokenFileOptions,
): TokenBackend {
  async function value(): Promise<string> {
    const text = await readPrefix(path, pipeMs).catch((error: NodeJS.ErrnoException) => {
      const reason = error.code === "ENOENT" ? "the file does not exist" : describeErrno(error);
      throw presetErrors.TOKEN_FILE_UNREADABLE(path, reason);
    });
    const token = text.trim();
    if (token === "") throw presetErrors.TOKEN_FILE_UNREADABLE(path, "it is empty");
    if (token.length > maxTokenBytes || /\s/.test(token)) {
      throw presetErrors.TOKEN_FILE_UNREADABLE(path, "it contains more than one token");
    }
    secret?.(token);
    return token;
  }

  return {
    ...others,
    resolve: async (asked, held) =>
      asked === name ? { value: await value(), source: "host" } : others.resolve(asked, held),
    watch(changed) {
      const watch = watchFiles([path], async () => {
        if (!(await isPipe(path))) await changed(name);
      });
      return () => watch.stop();
    },
  };
}

/** A pipe can be read once: reading it again would wait for another writer. */
const isPipe = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => !found.isFile(),
    () => false,
  );

/** Uses `value` for one token, and `others` for the rest. */
export const withGivenToken = (
  others: TokenBackend,
  name: TokenName,
  value: string,
): TokenBackend => ({
  ...others,
  resolve: async (asked, held) =>
    asked === name ? { value, source: "host" } : others.resolve(asked, held),
  watch: () => () => {},
});

/** Makes `name` an alias of the token `as` of the same backend. */
export const withTokenAlias = (
  form: TokenBackend,
  name: TokenName,
  as: TokenName,
): TokenBackend => ({
  ...form,
  resolve: (asked, held) => form.resolve(asked === name ? as : asked, held),
  watch: (changed) => form.watch?.((of) => changed(of === as ? name : of)) ?? (() => {}),
});

/** How often a pipe is read that has no bytes yet. */
const pipePauseMs = 20;

/**
 * Reads slightly more than the maximum token; works for files and for pipes of a shell. Opening a
 * named pipe would wait for its other process, so it is opened without waiting.
 */
async function readPrefix(path: string, pipeMs: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const isPipe = (await file.stat()).isFIFO();
    const bytes = Buffer.alloc(maxTokenBytes + 1);
    let length = 0;
    let waitedMs = 0;
    while (length < bytes.length) {
      const read = await file.read(bytes, length, bytes.length - length).then(
        ({ bytesRead }) => bytesRead,
        (error: NodeJS.ErrnoException) => {
          if (error.code === "EAGAIN") return undefined;
          throw error;
        },
      );
      // Until another process opens the pipe, it seems to be at its end.
      if (read === 0 && !(isPipe && length === 0 && waitedMs < pipeMs)) break;
      if (!read) {
        await wait(pipePauseMs);
        if (read === 0) waitedMs += pipePauseMs;
      }
      length += read ?? 0;
    }
    return bytes.toString("utf8", 0, length);
  } finally {
    await file.close();
  }
}
