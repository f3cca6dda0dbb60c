// A pico server with files in a temporary folder, and requests for uploads and downloads.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { media, type FileView, type MediaFiles } from "../../plugins/media/index.ts";
import { startPicoServer, token, type PicoTestServerOptions } from "./pico-server-harness.ts";

export interface UploadRequest {
  readonly session?: string;
  readonly headers?: Record<string, string>;
  readonly path?: string;
}

export const png = (width = 2, height = 3): Buffer<ArrayBuffer> => {
  const head = Buffer.alloc(64);
  head.write("\x89PNG\r\n\x1a\n", "latin1");
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
};

/** Returns all paths below a folder that are files. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name).slice(folder.length + 1)] : [],
  );
}

export async function startMediaServer(
  options: PicoTestServerOptions = {},
  section: Record<string, unknown> = {},
) {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  const folder = join(home, "state", "media");
  const server = await startPicoServer({
    ...options,
    first: media({ home }),
    section: { media: section },
  });
  const services = server.services as typeof server.services & { media: MediaFiles };
  const base = `http://127.0.0.1:${server.port}`;
  const authorization = `Bearer ${token}`;
  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${base}${path}`, { ...init, headers: { authorization, ...init.headers } });
  const send = (
    body: BodyInit,
    { session = "s", headers = {}, path = `/pico/media?session_id=${session}` }: UploadRequest = {},
  ): Promise<Response> =>
    request(path, { method: "POST", body, headers, duplex: "half" } as RequestInit);
  return {
    ...server,
    services,
    home,
    folder,
    base,
    request,
    /** Sends an upload and returns the response. */
    send,
    /** Uploads a file that must be accepted. */
    async upload(body: BodyInit, options: UploadRequest = {}): Promise<FileView> {
      const response = await send(body, options);
      if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
      return (await response.json()) as FileView;
    },
    /** Paths of everything that is stored. */
    stored: () => filesBelow(folder),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}
