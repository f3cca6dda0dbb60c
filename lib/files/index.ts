/* Files with settings and secrets: read with errors a person can act on, edited without touching another byte, written
 * so that a crash, a kill or another process never loses anything. Nothing here knows what the files mean. */
export { writeFileAtomic } from "./atomic-write.ts";
export { updateFile, type UpdateOptions } from "./update.ts";
export { fileErrors } from "./errors.ts";
export { parseJson, readJson, editJson, type ParsedFile, type JsonEdit } from "./json.ts";
export { lockFile, type FileLock } from "./lock.ts";
export {
  ensureHome,
  createPrivateFolder,
  restrictSecretFile,
  assertTrusted,
  withParentFolders,
  type HomeState,
} from "./permissions.ts";
export { cachedByStamp, watchFiles } from "./watch.ts";
export { parseYaml, readYaml, editYaml } from "./yaml.ts";
