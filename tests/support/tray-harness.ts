import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withKernel, type TestKernel } from "../../kernel/testing.ts";
import { channels } from "../../plugins/channels/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { memory, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { tray, type TrayOptions } from "../../plugins/tray/index.ts";
import { waitFor } from "../plugins/tray/bus.ts";

export const TOKEN = "launcher-token-of-this-test-0123456789";

export const parts = (form: TokenBackend) =>
  [
    tokenStore(form),
    channels(),
    http({ port: 0 }),
    picoServer({ enabled: false }),
    dashboard(),
  ] as const;

export interface Seen {
  readonly kernel: TestKernel<ReturnType<typeof parts>>;
  readonly opened: URL[];
  readonly quits: () => number;
  /** Texts of the log. */
  texts(): string[];
  /** Resolves when a line of the log has this text. */
  logged(text: string): Promise<void>;
}
export interface TrayTestOptions extends Partial<TrayOptions> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly form?: TokenBackend;
}

/** A dashboard and a channel with the tray, under a stopped clock. */
export async function withTray(
  options: TrayTestOptions,
  visit: (seen: Seen) => Promise<void>,
): Promise<void> {
  const opened: URL[] = [];
  let quits = 0;
  const plugin = tray({
    version: "1.2.3",
    hasLog: true,
    open: async (url) => opened.push(url) > 0,
    quit: () => {
      quits += 1;
    },
    ...options,
  });
  const form =
    options.form ?? memory({ launcher: TOKEN, pico: "pico-token-of-this-test-0123456789" });
  await withKernel(
    parts(form),
    async (testKernel) => {
      const texts = (): string[] =>
        testKernel.lines.filter(({ plugin: name }) => name === "tray").map(({ text }) => text);
      const logged = (text: string): Promise<void> =>
        waitFor(() => {
          if (!texts().includes(text))
            throw new Error(`not logged: ${text}; but: ${texts().join("; ")}`);
        });
      await visit({ kernel: testKernel, opened, quits: () => quits, texts, logged });
    },
    { plugins: [plugin], config: { "channels.pico": { enabled: true } } },
  );
}

export interface Programs extends AsyncDisposable {
  /** In front of `PATH`. */
  readonly folder: string;
  read(name: string): Promise<string>;
}

/** Programs of one's own, as shell scripts; `$HERE` is their folder. */
export async function programs(scripts: Readonly<Record<string, string>>): Promise<Programs> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-programs-"));
  for (const [name, text] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\nHERE="${folder}"\n${text}\n`, { mode: 0o755 });
  }
  return {
    folder,
    read: (name) => readFile(join(folder, name), "utf8").catch(() => ""),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A clipboard in a file, with the words it was called with. */
export const clipboardScripts = {
  xclip: `echo "$@" >> "$HERE/words"
env > "$HERE/environment"
case "$*" in *-out*) cat "$HERE/clipboard" ;; *) cat > "$HERE/clipboard" ;; esac`,
};
