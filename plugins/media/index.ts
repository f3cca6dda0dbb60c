/** Keeps the files of messages, so that a message names them and carries no bytes. */
import { isAbsolute, join, resolve } from "node:path";
import type { Plugin, Scope } from "../../kernel/index.ts";
import { observeCalls } from "../../lib/observed-promise.ts";
import { mediaSchema } from "./config.ts";
import type { MediaShape, MediaStore } from "./contract.ts";
import { mediaErrors } from "./errors.ts";
import { FolderStore } from "./folder-store.ts";
import { MediaService } from "./service.ts";
import { Upkeep } from "./upkeep.ts";

export type { MediaConfig } from "./config.ts";
export { mediaErrors } from "./errors.ts";
export type {
  ArrivedContent,
  ByteRange,
  DownloadOptions,
  FileDetails,
  FileQuery,
  FileView,
  MediaFiles,
  MediaShape,
  MediaStore,
  ResumableOptions,
  ResumableResponse,
  ResumableUpload,
  StoredFile,
  StoredPart,
  SweepOptions,
  UploadOptions,
} from "./contract.ts";

/** Options of {@link media}. */
export interface MediaOptions {
  /** Folder of the launcher: files are kept in `state/media` of it, unless `media.path` is set. */
  readonly home?: string;
  /** `PATH` of the command in `media.check`. @defaultValue `"/usr/bin:/bin"` */
  readonly searchPath?: string;
  /** Keeps the files elsewhere. @defaultValue a folder */
  readonly store?: MediaStore;
}

/**
 * Creates the plugin that keeps files of messages. List it after `conversations` and before
 * `channels`; without it, messages carry images only.
 *
 * @param options - The folder, or another store.
 * @throws MEDIA_PATH_MISSING at start, if there is no folder.
 * @throws MEDIA_FOLDER at start, if the folder in `media.path` cannot be used. One of `home` that
 *   cannot be used is named in the log, and uploads are rejected as `media_unavailable`.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { echo } from "doorward/plugins/echo";
 * import { http } from "doorward/plugins/http";
 * import { media } from "doorward/plugins/media";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const tokens = tokenStore(memory({ pico: token }));
 * const own = [tokens, media({ home: "/var/lib/bot" }), channels(), http(), picoServer()] as const;
 * const kernel = createKernel([...own, echo()]);
 */
export function media({
  home,
  store: given,
  searchPath = "/usr/bin:/bin",
}: MediaOptions = {}): Plugin<MediaShape> {
  return {
    name: "media",
    api: 1,
    uses: { conversations: true, settings: true },
    config: { section: "media", schema: mediaSchema },
    async start(scope) {
      const { clock, log, random, after, config, uses, on, onConfig, onReady } = scope;
      const store = given ?? (await openFolder(home, config().path, scope));
      const { conversations, settings } = uses;
      // Several nodes may share the folder. Without settings, an upload ends with its node.
      const isShared = conversations?.ownership !== undefined;
      if (given === undefined && config().path === "" && isShared) log.warn({}, notShared);
      const ownName = isShared ? `start-${Buffer.from(random(8)).toString("hex")}` : "only";
      const node = (): string => settings?.instance() ?? ownName;
      const options = { store, clock, random, config, searchPath, conversations, node };
      const service = new MediaService(options);
      const { usage, fileClock, parts } = service;
      const own = { usage, fileClock, parts, store };
      const upkeep = new Upkeep({ ...own, conversations, clock, log, after });
      on("channels:session-cleared", (address) => upkeep.clear(address));
      on("channels:deletion-ended", (address) => upkeep.cleared(address));
      onConfig((next, before) => (next.path === before.path ? {} : { afterRestart: ["path"] }));
      onReady(() => upkeep.start());
      const names = ["put", "get", "list", "use", "share", "remove", "open"] as const;
      const text = "a call of the media service has failed, and no code awaits it";
      return {
        media: observeCalls(service, names, (call, err) => log.error({ err, call }, text)),
      };
    },
  };
}

const notShared =
  "Nodes that share Redis cannot read the files of this one; " +
  "set media.path to a folder that all of them share";

/** A launcher starts without a folder, as it does without settings and conversations. */
async function openFolder(
  home: string | undefined,
  path: string,
  { log, random }: Pick<Scope<MediaShape>, "log" | "random">,
): Promise<FolderStore> {
  const isComplete = home !== undefined || isAbsolute(path);
  if (!isComplete) throw mediaErrors.MEDIA_PATH_MISSING();
  const folder = path === "" ? join(home!, "state", "media") : resolve(home ?? "/", path);
  const store = new FolderStore(folder, random);
  try {
    await store.prepare();
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    const problem = mediaErrors.MEDIA_FOLDER(folder, code, { cause: error });
    if (path !== "") throw problem;
    log.warn({ code: problem.code }, `Messages cannot carry files. ${problem.message}`);
  }
  return store;
}
