import { open, stat } from "node:fs/promises";
import type { TokenBackend, TokenName } from "../../plugins/token-store/index.ts";
import { watchFiles } from "../../lib/files/index.ts";
import { presetErrors } from "./errors.ts";

const maxTokenBytes = 4_096;

export interface TokenFileOptions {
  readonly name: TokenName;
  readonly path: string;
  /** Told every value that is read. */
  readonly secret?: (value: string) => void;
}

/** One token from a file that holds nothing else, as systemd and containers hand them out; it is read again when it
 *  changes, and never written. The other tokens come from the other form. Rejects `TOKEN_FILE_UNREADABLE`. */
export function withTokenFile(
  others: TokenBackend,
  { name, path, secret }: TokenFileOptions,
): TokenBackend {
  async function value(): Promise<string> {
    const text = await readPrefix(path).catch((error: NodeJS.ErrnoException) => {
      const reason = error.code === "ENOENT" ? "there is none" : (error.code ?? "it is not a file");
      throw presetErrors.TOKEN_FILE_UNREADABLE(path, reason);
    });
    const token = text.trim();
    if (token === "") throw presetErrors.TOKEN_FILE_UNREADABLE(path, "it is empty");
    if (token.length > maxTokenBytes || /\s/.test(token)) {
      throw presetErrors.TOKEN_FILE_UNREADABLE(path, "it holds more than one token");
    }
    secret?.(token);
    return token;
  }

  return {
    ...others,
    resolve: async (asked, held) =>
      asked === name ? { value: await value(), source: "host" } : others.resolve(asked, held),
    watch: (changed) =>
      watchFiles([path], async () => {
        if (!(await isPipe(path))) await changed(name);
      }),
  };
}

/** A pipe has given what it had: reading it again would wait for whoever writes next. */
const isPipe = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => !found.isFile(),
    () => false,
  );

/** One token that was handed over; the other ones come from the other form. */
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

/** One token as another name for a second one of the form: both follow its places. */
export const withTokenAlias = (
  form: TokenBackend,
  name: TokenName,
  as: TokenName,
): TokenBackend => ({
  ...form,
  resolve: (asked, held) => form.resolve(asked === name ? as : asked, held),
  watch: (changed) => form.watch?.((of) => changed(of === as ? name : of)) ?? (() => {}),
});

/** As much as a token can be and a little more, whatever the path leads to: a pipe of a shell is a fine place. */
async function readPrefix(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const bytes = Buffer.alloc(maxTokenBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
    }
    return bytes.toString("utf8", 0, length);
  } finally {
    await file.close();
  }
}
