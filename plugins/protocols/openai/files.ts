// Serves /v1/files: a client uploads a file, and its messages name the id.
import { codeOf } from "../../../kernel/index.ts";
import type { MediaFiles, StoredFile } from "../../media/index.ts";
import { downloadRoutes, sessionOf } from "../requests.ts";
import { toFileRefusal, unknownFile, uploadsName } from "../files.ts";
import type { Protocol } from "../protocol.ts";
import type { Call, JsonReply, Route } from "../server.ts";
import type { OpenaiConfig } from "./config.ts";

const filePath = /^\/v1\/files\/([^/]{1,128})(\/content)?$/;
/** An upload lives that long after its last use. */
const keepSeconds = 86_400;

/** The purpose that a client names has no effect. */
function toFileObject({ id, size, at, usedAt = at, filename }: StoredFile): object {
  return {
    id,
    object: "file",
    bytes: size,
    created_at: Math.floor(at / 1_000),
    expires_at: Math.floor(usedAt / 1_000) + keepSeconds,
    filename,
    purpose: "user_data",
    status: "processed",
  };
}

class FileRoutes {
  private readonly protocol: Protocol<OpenaiConfig>;
  private readonly media: MediaFiles;

  constructor(protocol: Protocol<OpenaiConfig>, media: MediaFiles) {
    this.protocol = protocol;
    this.media = media;
  }

  find(path: string): Route | readonly Route[] | undefined {
    if (path === "/v1/files") return { method: "POST", run: (call) => this.upload(call) };
    const [, id, content] = filePath.exec(path) ?? [];
    if (id === undefined) return undefined;
    if (content !== undefined) return downloadRoutes(this.protocol, id);
    return [
      { method: "GET", run: (call) => this.show(call, id) },
      { method: "DELETE", run: (call) => this.delete(call, id) },
    ];
  }

  /** @returns Undefined if the client has left. */
  private async upload(call: Call): Promise<JsonReply | undefined> {
    const { access, request } = call;
    const session = await this.uploads(call);
    try {
      const file = await this.media.receive(request, {
        address: { channel: "pico", session },
        sender: access.sender.id,
        key: this.protocol.http.peer(request).key,
        isCurrent: () => access.isCurrent?.() !== false && access.ending?.aborted !== true,
        isForm: true,
      });
      return { value: toFileObject(file) };
    } catch (error) {
      if (codeOf(error) === "upload_incomplete") return undefined;
      throw toFileRefusal(this.protocol, error);
    }
  }

  private async show(call: Call, id: string): Promise<JsonReply> {
    return { value: toFileObject(await this.require(call, id)) };
  }

  private async delete(call: Call, id: string): Promise<JsonReply> {
    const file = await this.require(call, id);
    await this.media.remove(file);
    return { value: { id, object: "file", deleted: true } };
  }

  /** An upload of another client has the same response as an unknown one. */
  private async require(call: Call, id: string): Promise<StoredFile> {
    const session = await this.uploads(call);
    try {
      const file = await this.media.get(id);
      const isOwn =
        file?.channel === "pico" &&
        file.session === session &&
        file.sender === call.access.sender.id;
      if (file && isOwn) return file;
    } catch (error) {
      throw toFileRefusal(this.protocol, error);
    }
    throw unknownFile();
  }

  private uploads(call: Call): Promise<string> {
    return sessionOf(this.protocol, call, uploadsName, "file");
  }
}

/** Returns the routes of a path; undefined for others, and without the plugin `media`. */
export function findFileRoute(
  protocol: Protocol<OpenaiConfig>,
  path: string,
): Route | readonly Route[] | undefined {
  return protocol.media && new FileRoutes(protocol, protocol.media).find(path);
}
