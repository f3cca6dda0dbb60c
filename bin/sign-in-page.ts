// Passes a one-time link to the browser in a private file, since other users of the machine can
// read arguments.
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, rmdirSync, statSync, unlinkSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createPrivateFolder } from "../lib/files/index.ts";
import type { Environment } from "../config/load/index.ts";
import { openBrowser } from "./desktop.ts";
import { escapeMarkup } from "./markup.ts";

const fileName = "sign-in.html";

/** Lifetime of an unused page; a cold start of a browser takes this long on small machines. */
export const unusedMs = 60_000;

/** Browsers installed by snap cannot read `/tmp` or hidden folders of the user. */
const snapBrowsers = ["firefox", "chromium", "brave", "opera", "vivaldi", "microsoft-edge"];

export interface SignInPagesOptions {
  readonly home: string;
  readonly env: Environment;
  readonly platform?: NodeJS.Platform;
  /** Folder of the commands that snap installs. @defaultValue `"/snap/bin"` */
  readonly snapFolder?: string;
}

interface Parent {
  readonly folder: string;
  /** Prefix of the names of page folders. */
  readonly prefix: string;
}

/** Creates and removes the pages of one home. Writes nothing before the first `open`. */
export function createSignInPages(options: SignInPagesOptions) {
  const { platform = process.platform, env } = options;
  const parents = parentsOf(options, platform);
  const sweep = (olderThanMs: number): void => {
    for (const parent of parents) sweepIn(parent, olderThanMs);
  };
  return {
    /** Removes pages of this home that are at least this old, also those of other processes. */
    sweep,
    /** Opens `link` in the user's browser. Resolves with false if no browser could be started or no
     *  private file could be written; the link is never in an argument list. */
    async open(link: URL): Promise<boolean> {
      sweep(unusedMs);
      const page = await write(link, parents, platform);
      if (page === undefined) return false;
      const isOpen = await openBrowser(pathToFileURL(join(page, fileName)), env, platform);
      if (!isOpen) remove(page);
      return isOpen;
    },
  };
}

export type SignInPages = ReturnType<typeof createSignInPages>;

/** Returns the folders to try, best first. */
function parentsOf(
  { home, env, snapFolder = "/snap/bin" }: SignInPagesOptions,
  platform: NodeJS.Platform,
): Parent[] {
  const hash = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16);
  // These folders are shared with other homes; `run` is not.
  const shared = (folder: string | undefined): Parent[] =>
    folder?.trim() ? [{ folder: folder.trim(), prefix: `doorward-open-${hash}-` }] : [];
  const hasSnap =
    platform === "linux" && snapBrowsers.some((name) => existsSync(join(snapFolder, name)));
  return [
    ...(hasSnap ? shared(env["HOME"]) : []),
    { folder: join(home, "run"), prefix: "open-" },
    ...shared(env["XDG_RUNTIME_DIR"]),
  ];
}

/** Writes the page to a new folder; undefined if no parent is private and writable. */
async function write(
  link: URL,
  parents: readonly Parent[],
  platform: NodeJS.Platform,
): Promise<string | undefined> {
  for (const { folder, prefix } of parents) {
    try {
      if (prefix === "open-") await createPrivateFolder(folder);
      if (!isPrivate(folder, platform)) continue;
      const page = await mkdtemp(join(folder, prefix)); // 0700
      await writeFile(join(page, fileName), pageOf(link), { flag: "wx", mode: 0o600 });
      return page;
    } catch {
      // A read-only or full file system; the next folder may be on another one.
    }
  }
  return undefined;
}

/** Users who can rename the page folder could show their own page to the browser. */
function isPrivate(folder: string, platform: NodeJS.Platform): boolean {
  if (platform === "win32") return true;
  const { uid, mode } = statSync(folder);
  return (uid === process.getuid?.() || uid === 0) && (mode & 0o022) === 0;
}

function sweepIn({ folder, prefix }: Parent, olderThanMs: number): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return; // the folder does not exist
  }
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const page = join(folder, name);
    const found = lstatSync(page, { throwIfNoEntry: false });
    // The absolute value also removes pages from the future, after the clock was set back.
    const isOld = found && Math.abs(Date.now() - found.mtimeMs) >= olderThanMs;
    if (isOld && found.isDirectory()) remove(page);
  }
}

function remove(page: string): void {
  for (const act of [() => unlinkSync(join(page, fileName)), () => rmdirSync(page)]) {
    try {
      act();
    } catch {
      // Another process removed it first. A page that remains has a link that expires in 5 minutes.
    }
  }
}

/** @returns A page that redirects to `link`, sends no referrer and loads nothing. */
export function pageOf({ href }: URL): string {
  const url = escapeMarkup(href);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<meta http-equiv="refresh" content="0; url=${url}">
<title>Doorward</title>
<p><a href="${url}" rel="noreferrer">Open the dashboard</a></p>
</html>
`;
}
