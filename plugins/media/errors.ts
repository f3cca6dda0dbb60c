// Error table of the files of messages.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the media service. Compare `error.code`, not the message. */
export const mediaErrors = errorTable({
  MEDIA_PATH_MISSING:
    "The plugin media() has no folder: pass { home }, or set media.path to an absolute path.",
  MEDIA_FOLDER: (path: string, reason: string) =>
    `The folder for files, ${path}, cannot be used: ${reason}. ` +
    "Correct its permissions, or set media.path to another folder.",
  file_too_large: (maxMb: number) =>
    `The file is larger than ${maxMb} MiB (media.max_file_mb); send a smaller one.`,
  media_full: (what: string, setting: string) =>
    `There is no room for the file: the limit for ${what} is reached (${setting}). ` +
    "Delete conversations with files, or ask the owner to raise the limit.",
  disk_full: "There is no room for the file: the disk of the server is full.",
  checksum_mismatch: "The content does not match X-Doorward-SHA256; send the file again.",
  file_rejected: "The owner's check rejected the file, so it was not stored.",
  upload_invalid: (header: string, form: string) => `The header ${header} must be ${form}.`,
  form_invalid: "The body must be a form (multipart/form-data) with one file in the field file.",
  upload_incomplete: "The connection ended before the whole file had arrived; send it again.",
  upload_slow: "The file arrives slower than 16 KiB per second; send it again.",
  upload_unauthorized: "The token or sign-in ended while the file arrived; send it again.",
  uploads_unfinished:
    "Too many uploads have begun and not ended: finish or cancel one. Each ends after 24 hours.",
  upload_conflict: (offset: number) =>
    `Upload-Offset must be ${offset}, which is what is stored; continue from there.`,
  upload_locked: "Another request sends bytes of this upload; try again shortly.",
  uploads_busy: "Too many files arrive at the moment; try again shortly.",
  downloads_busy: "Too many large responses are unread; try again shortly.",
  unknown_media: "This session has no file with this id; upload the file to this session first.",
  media_unavailable: "Files cannot be stored or read now; try again shortly.",
});
