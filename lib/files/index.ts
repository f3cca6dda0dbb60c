/* Files with settings and secrets: read with errors a person can act on, edited without touching another byte, written
 * so that a crash, a kill or another process never loses anything. Nothing here knows what the files mean. */
export { writeFileAtomic } from "./atomic.ts";
export { updateFile, type UpdateOptions } from "./edit.ts";
export { fileErrors } from "./errors.ts";
export { parseJson, readJson, type ParsedFile } from "./json.ts";
export { editJson, type JsonEdit } from "./json-edit.ts";
export { lockFile, type FileLock } from "./lock.ts";
export {
  ensureHome,
  createPrivateFolder,
  restrictSecretFile,
  type HomeState,
} from "./permissions.ts";
export { cachedByStamp } from "./stamp.ts";
export { assertTrusted, withParentFolders } from "./trust.ts";
export { watchFiles } from "./watch.ts";
export { parseYaml, readYaml } from "./yaml.ts";
export { editYaml } from "./yaml-edit.ts";
