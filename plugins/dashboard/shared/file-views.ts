// JSON types of the endpoints for files, shared with the browser code.
import type { FileView } from "../../media/index.ts";

/** Body of `GET /api/media`. */
export interface FilesView {
  /** Oldest first. */
  readonly files: readonly FileView[];
}
