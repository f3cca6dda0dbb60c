/** Types of the media service: files that messages name by their id. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { Awaitable, Release } from "../../kernel/index.ts";
import type { ChannelsEvents } from "../channels/events.ts";
import type { Address, Conversations } from "../conversations/contract.ts";
import type { Settings } from "../settings/index.ts";
import type { MediaConfig, MediaInput } from "./config.ts";

/** A file of one session. Two files with the same content share its bytes. */
export interface StoredFile extends Address {
  /** `m_` and 48 hexadecimal digits. It cannot be guessed, but it is not a credential. */
  readonly id: string;
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
  /** The type that the sender named, in lower case. Untrusted: see `inline`. */
  readonly contentType: string;
  /** A name for users: at most 255 bytes without control characters. Not safe as a path. */
  readonly filename: string;
  /** The type that browsers may show, if the content has the signature of that type. */
  readonly inline?: string;
  /** The sender of the file: `Sender.id`, or `application`. */
  readonly sender: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** Unix milliseconds of the latest message with this file; absent before the first one. */
  readonly usedAt?: number;
  /** Time of the upload or the latest use, on the clock by which files are deleted; absent for a
   *  file of an earlier version. */
  readonly agedAt?: number;
  /** Id of the conversation that uses the file, as soon as it is known. */
  readonly conversation?: string;
}

/** A part of a file, in bytes. Both ends belong to it. */
export interface ByteRange {
  /** Place of the first byte, from 0. */
  readonly start: number;
  /** Place of the last byte. */
  readonly end: number;
}

/** A file whose bytes arrive in several requests. Its id becomes that of the file. */
export interface ResumableUpload extends Address {
  /** `m_` and 48 hexadecimal digits. */
  readonly id: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** `Sender.id`. Others cannot continue the upload. */
  readonly sender: string;
  /** Name of the node where it began. Others cannot continue it. */
  readonly node: string;
  /** The time of its begin, on the clock by which files are deleted. */
  readonly agedAt: number;
  /** Milliseconds for which its node has run since. */
  readonly ranMs: number;
  /** The type that the sender named. */
  readonly contentType?: string;
  /** The name that the sender gave. */
  readonly filename?: string;
  /** The expected SHA-256 in hexadecimal digits. */
  readonly sha256?: string;
}

/** How much of an upload is stored. */
export interface StoredPart {
  /** The upload. */
  readonly upload: ResumableUpload;
  /** Bytes on the disk. */
  readonly offset: number;
}

/** Content that has arrived completely and that no file names yet. */
export interface ArrivedContent {
  /** Digest of the content, in hexadecimal digits. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
  /** Reads the content again. */
  open(): Readable;
}

/** Selects one file, the files of one session, or all files. */
export type FileQuery = { readonly id: string } | Address | Readonly<Record<never, never>>;

/** Selects what `sweep` examines. */
export interface SweepOptions {
  /** The session whose files are examined. @defaultValue all files, and leftovers */
  readonly address?: Address;
  /** Leftovers that are older than this are deleted: Unix milliseconds. */
  readonly before: number;
}

/**
 * Keeps the bytes and names of files. A folder ships (`folderStore`). All calls reject with
 * `media_unavailable` if the store cannot be used.
 */
export interface MediaStore {
  /**
   * Begins a part, into which bytes arrive.
   *
   * @param upload - Is kept with the part, so that the upload continues after a restart; without
   *   it, a part that a killed process leaves is deleted as a leftover.
   */
  begin(id: string, upload?: ResumableUpload): Promise<void>;
  /**
   * Stores bytes from this place on as they arrive. Bytes that have arrived stay if they end early.
   * Rejects with `unknown_media` if the part is gone. One caller at a time writes a part.
   */
  append(id: string, offset: number, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Makes the part the content of the file that `complete` returns. The part stays if that
   * rejects.
   */
  finish(
    id: string,
    complete: (content: ArrivedContent) => Awaitable<StoredFile>,
  ): Promise<StoredFile>;
  /** Replaces what is kept with a part. */
  renew(upload: ResumableUpload): Promise<void>;
  /** Deletes a part, if there is one. */
  discard(id: string): Promise<void>;
  /** Reads the uploads that have not ended: one, or all in no order. */
  parts(id?: string): AsyncIterable<StoredPart>;
  /** Opens the content, or a part of it. Rejects with `unknown_media` if it is gone. */
  open(file: StoredFile, range?: ByteRange): Promise<Readable>;
  /** Reads the names of files, in no order. */
  find(query: FileQuery): AsyncIterable<StoredFile>;
  /** Stores a file whose content is stored already, or replaces the one with this id. */
  link(file: StoredFile): Promise<void>;
  /** Deletes the files that are not kept, and content that no file names. Returns the files. */
  sweep(
    isKept: (file: StoredFile) => Awaitable<boolean>,
    options: SweepOptions,
  ): Promise<readonly StoredFile[]>;
  /** The path of the content, for programs of this machine; absent if the store has no paths. */
  path?(file: StoredFile): string;
}

/** The description of a file by its sender. */
export interface FileDetails {
  /** @defaultValue `application/octet-stream` */
  readonly contentType?: string | undefined;
  /** @defaultValue `file` */
  readonly filename?: string | undefined;
  /** `Sender.id`. @defaultValue `application` */
  readonly sender?: string;
  /** Bytes, if they are known. A limit is then checked before the first byte. */
  readonly size?: number | undefined;
  /** The expected SHA-256 in hexadecimal digits. */
  readonly sha256?: string | undefined;
}

/** An upload by HTTP. */
export interface UploadOptions {
  /** The session that receives the file. */
  readonly address: Address;
  /** `Sender.id` of the client. */
  readonly sender: string;
  /** Limits the uploads at one time: the key of the client's address. */
  readonly key: string;
  /** True for a form with the file in the field `file`. @defaultValue the body is the file */
  readonly isForm?: boolean;
  /** False after the credentials of the request have ended: the upload is then discarded. */
  readonly isCurrent: () => boolean;
}

/** A request of a resumable upload by HTTP. */
export interface ResumableOptions extends Omit<UploadOptions, "address" | "isForm"> {
  /** The session in which an upload begins, or the id of one that continues. */
  readonly target: Address | string;
  /** Whether the client may use the session of the upload. @defaultValue any */
  readonly mayUse?: (address: Address) => boolean;
  /** Where the client finds a file. */
  readonly url: (id: string) => string;
}

/** The response to a request of a resumable upload. */
export interface ResumableResponse {
  /** HTTP status. */
  readonly status: number;
  /** Headers of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  /** The reason for a rejection. */
  readonly body?: { readonly error: string; readonly message: string };
}

/** A download by HTTP. */
export interface DownloadOptions {
  /** Reserves memory, as `Http.holdResponse` does. */
  readonly hold: (bytes: number) => Release | undefined;
  /** Further headers of the response, which replace those of the file. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The service of the plugin. */
export interface MediaFiles {
  /**
   * Stores a file for a session. The application calls it before it sends the file.
   *
   * @throws file_too_large or media_full if it exceeds a limit; checked while the bytes arrive.
   * @throws checksum_mismatch if the content is not the expected one.
   * @throws file_rejected if the command of `media.check` rejects it.
   */
  put(
    address: Address,
    bytes: AsyncIterable<Uint8Array>,
    details?: FileDetails,
  ): Promise<StoredFile>;
  /** Reads the description of a file; undefined if there is no such file. */
  get(id: string): Promise<StoredFile | undefined>;
  /** Lists the files of a session, oldest first. */
  list(address: Address): Promise<readonly StoredFile[]>;
  /**
   * Records that a message of this session names the file, so that it lives as long as the
   * conversation.
   *
   * @throws unknown_media if the session has no such file.
   */
  use(address: Address, id: string): Promise<StoredFile>;
  /**
   * Makes a file of another session a file of this one. Only the application may call it.
   *
   * @returns The file with its id in this session; its bytes are not copied.
   * @throws unknown_media if there is no such file.
   */
  share(address: Address, id: string): Promise<StoredFile>;
  /** Deletes one file. Its bytes go with the last file that has them. */
  remove(file: StoredFile): Promise<void>;
  /**
   * Opens the content.
   *
   * @throws unknown_media if there is no such file.
   */
  open(id: string, range?: ByteRange): Promise<Readable>;
  /** The path of the content; undefined if the store has no paths. Programs only read it. */
  path(file: StoredFile): string | undefined;
  /** Stores the body of a request. Rejects like `put`, and with `upload_*` codes. */
  receive(request: IncomingMessage, options: UploadOptions): Promise<StoredFile>;
  /** True for a request of tus 1.0: it names the protocol, or has a method that only it has. */
  isResumable(request: IncomingMessage): boolean;
  /** Headers that say what resumable uploads can do, for the response to `OPTIONS`. */
  resumableHeaders(): Readonly<Record<string, string>>;
  /**
   * Serves a request of tus 1.0 (https://tus.io/protocols/resumable-upload): creation, offset,
   * bytes and termination. Rejects like `receive`, and with `unknown_media`.
   */
  resume(request: IncomingMessage, options: ResumableOptions): Promise<ResumableResponse>;
  /**
   * Sends the content, or the part that the request names, with all headers.
   *
   * @throws downloads_busy if too many large responses are unread.
   */
  send(
    file: StoredFile,
    request: IncomingMessage,
    response: ServerResponse,
    options: DownloadOptions,
  ): Promise<void>;
  /** Adds the files of a session to a JSON document of its conversation. */
  exportWith(document: AsyncIterable<string>, address: Address): AsyncIterable<string>;
  /**
   * Describes a file for clients.
   *
   * @param url - Where this client finds the file.
   */
  view(file: StoredFile, url: string): FileView;
  /** Bytes that one file may have. */
  maxFileBytes(): number;
}

/** The description of a file as clients receive it. */
export interface FileView {
  /** Identifies the file: `m_…`. */
  readonly id: string;
  /** Where this client finds it. */
  readonly url: string;
  /** In bytes. */
  readonly size: number;
  /** Digest of the content, in hexadecimal digits. */
  readonly sha256: string;
  /** The type that the sender named. Untrusted: see `inline`. */
  readonly content_type: string;
  /** A cleaned name of at most 255 bytes. */
  readonly filename: string;
  /** True if browsers show the file at its address; otherwise they download it. */
  readonly inline: boolean;
}

/** The plugin's configuration and services. */
export type MediaShape = {
  /** The validated section `media`. */
  config: MediaConfig;
  /** The section as users write it. */
  section: { media: MediaInput };
  /** Tells which conversations exist, so that files end with them; the name of this home. */
  uses: { conversations: Conversations; settings: Settings };
  /** Deleted conversations. */
  listens: Pick<ChannelsEvents, "channels:session-cleared" | "channels:deletion-ended">;
  /** Files of messages. */
  offers: { media: MediaFiles };
};
