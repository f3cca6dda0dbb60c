// Reads, edits and writes JSON and YAML files with settings and secrets. Errors say how to fix a
// file, an edit leaves all other bytes unchanged, and a write survives a crash and other processes.
// These modules do not know what the files mean.
export { describeErrno, describeFailure, describeUnreadable } from "./errors.ts";
export {
  assertExactKeys,
  jsonKeyError,
  parseJson,
  readJson,
  editJson,
  findJsonText,
  type ParsedFile,
} from "./json.ts";
export { isAlive, lockFile, processStartTime, type FileLock } from "./lock.ts";
export {
  ensureHome,
  createPrivateFolder,
  restrictSecretFile,
  assertTrusted,
  withParentFolders,
} from "./permissions.ts";
export { cachedByStamp, watchFiles, type FileWatch } from "./watch.ts";
export { openRegularFile, openRegularFileSync, readRegularFile, type FoundText } from "./text.ts";
export { parseYaml, readYaml, editYaml, findYamlText } from "./yaml.ts";
export { syncFolder, writeFileAtomic, updateFile } from "./write.ts";
