// Serves POST /pico/media and GET /pico/media/ID, and resumable uploads: files of a session.
import type { IncomingMessage, ServerResponse } from "node:http";
import { codeOf } from "../../../kernel/index.ts";
import { messageErrors } from "../../../lib/pico-wire/index.ts";
import type { Http } from "../../http/index.ts";
import { sendJson } from "../../http/kit.ts";
import type { Address } from "../../channels/index.ts";
import type { MediaFiles } from "../../media/index.ts";
import type { Admission, AdmissionControl } from "../handshake/admission.ts";
import { sessionOfUrl } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import type { RuntimeContext } from "../connection/context.ts";
import type { SessionGuard } from "../session/session-guard.ts";
import { mediaPath } from "../session/message-files.ts";
import type { JsonResponse } from "./post-message.ts";

interface MediaRouteOptions {
  readonly media: MediaFiles | undefined;
  readonly entrance: "pico" | "keys";
  readonly http: Pick<Http, "holdResponse" | "url">;
  readonly runtime: RuntimeContext;
  readonly access: {
    readonly admissionControl: Pick<AdmissionControl, "expired">;
    readonly sessionGuard: Pick<SessionGuard, "check">;
  };
  /** Counts one request of an address. Returns `false` beyond `message_rate`. */
  readonly isWithinRate: (key: string, now: number) => boolean;
}

type HeaderLines = Readonly<Record<string, string>>;

/** Headers that pages of allowed origins read, for example to resume a download. */
const exposedHeaders = {
  "Access-Control-Expose-Headers":
    "Accept-Ranges, Content-Disposition, Content-Range, ETag, Retry-After, WWW-Authenticate, " +
    "Location, Tus-Resumable, Tus-Version, Upload-Length, Upload-Offset, X-Doorward-Media",
};
const notFound: Rejection = { code: "not_found" };

/** Errors of the media service, as codes of the channel. */
const codes: Readonly<Record<string, Rejection["code"]>> = {
  file_too_large: "file_too_large",
  media_full: "media_full",
  disk_full: "media_full",
  checksum_mismatch: "invalid_file",
  file_rejected: "invalid_file",
  upload_invalid: "invalid_file",
  upload_slow: "request_timeout",
  uploads_busy: "busy",
  uploads_unfinished: "busy",
  downloads_busy: "busy",
  media_unavailable: "unavailable",
  unknown_media: "not_found",
};

/** @returns The id in a path such as `/pico/media/m_1f…`; undefined for other paths. */
export const fileIdOf = (path: string): string | undefined =>
  /^\/pico\/media\/([^/]+)$/.exec(path)?.[1];

/** A file of another session has the same response as an unknown one. */
const mayUse = ({ scope }: Admission, { channel, session }: Address): boolean =>
  channel === "pico" && (scope === undefined || scope.resolve(session) === session);

export class MediaRoutes {
  private readonly options: MediaRouteOptions;

  constructor(options: MediaRouteOptions) {
    this.options = options;
  }

  /** True for requests of resumable uploads. */
  isResumable(request: IncomingMessage): boolean {
    return this.options.media?.isResumable(request) === true;
  }

  /** Headers of the response to `OPTIONS`. */
  resumableHeaders(): HeaderLines {
    return this.options.media?.resumableHeaders() ?? {};
  }

  /**
   * Serves a resumable upload.
   *
   * @param id - The upload; undefined for a new one.
   * @returns A rejection, or undefined after the response.
   */
  async resume(
    id: string | undefined,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
    response: ServerResponse,
    cors: HeaderLines,
  ): Promise<Rejection | undefined> {
    const { media, http, entrance } = this.options;
    if (!media) return notFound;
    const { request } = handshakeRequest;
    const limited = this.checkRate(handshakeRequest);
    if (limited) return limited;
    const target = id ?? (await this.addressOf(handshakeRequest, admission));
    if (typeof target === "object" && "code" in target) return target;
    try {
      const { status, headers, body } = await media.resume(request, {
        target,
        ...this.senderOf(handshakeRequest, admission),
        mayUse: (address) => mayUse(admission, address),
        url: (file) => http.url(mediaPath(file, entrance)),
      });
      const exposed = "Access-Control-Allow-Origin" in cors ? exposedHeaders : {};
      const unread = request.complete ? {} : { Connection: "close" };
      const all = { ...headers, ...cors, ...exposed, ...unread };
      if (body) sendJson(response, status, body, all);
      else response.writeHead(status, all).end();
      return undefined;
    } catch (error) {
      if (codeOf(error) === "upload_incomplete") return undefined;
      return this.options.access.admissionControl.expired(admission) ?? this.toRejection(error);
    }
  }

  /** @returns The stored file, a rejection, or undefined if the client has left. */
  async upload(
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): Promise<JsonResponse | Rejection | undefined> {
    const { media, access } = this.options;
    if (!media) return notFound;
    const limited = this.checkRate(handshakeRequest);
    if (limited) return limited;
    const address = await this.addressOf(handshakeRequest, admission);
    if ("code" in address) return address;
    try {
      const sender = this.senderOf(handshakeRequest, admission);
      const file = await media.receive(handshakeRequest.request, { address, ...sender });
      const { http, entrance } = this.options;
      const url = http.url(mediaPath(file.id, entrance));
      return { status: 201, body: media.view(file, url) };
    } catch (error) {
      if (codeOf(error) === "upload_incomplete") return undefined;
      return access.admissionControl.expired(admission) ?? this.toRejection(error);
    }
  }

  /** @returns A rejection, or undefined after the response. */
  async download(
    id: string,
    { request }: HandshakeRequest,
    admission: Admission,
    response: ServerResponse,
    headers: HeaderLines,
  ): Promise<Rejection | undefined> {
    const { media, http } = this.options;
    try {
      const file = await media?.get(id);
      if (!media || !file || !mayUse(admission, file)) return notFound;
      const hold = (bytes: number) => http.holdResponse(response, bytes);
      const exposed = "Access-Control-Expose-Headers" in headers ? exposedHeaders : {};
      const all = { ...headers, ...exposed };
      await media.send(file, request, response, { hold, headers: all });
      return undefined;
    } catch (error) {
      return this.toRejection(error);
    }
  }

  private checkRate({ peer }: HandshakeRequest): Rejection | undefined {
    const { isWithinRate, runtime } = this.options;
    if (isWithinRate(peer.key, runtime.clock.now())) return undefined;
    return { code: "rate_limited", message: messageErrors.rate_limited.message };
  }

  private async addressOf(
    { params }: HandshakeRequest,
    admission: Admission,
  ): Promise<Address | Rejection> {
    const { runtime, access } = this.options;
    const session = await sessionOfUrl(params, admission, runtime.newId, access.sessionGuard);
    return typeof session === "string" ? { channel: "pico", session } : session;
  }

  private senderOf({ peer }: HandshakeRequest, admission: Admission) {
    const { admissionControl } = this.options.access;
    const isCurrent = (): boolean => admissionControl.expired(admission) === undefined;
    return { sender: admission.sender.id, key: peer.key, isCurrent };
  }

  private toRejection(error: unknown): Rejection {
    const code = codes[codeOf(error)];
    if (code === undefined) throw error;
    if (code === "unavailable")
      this.options.runtime.log.error({ err: error }, "Files cannot be stored or read");
    return code === "not_found" ? notFound : { code, message: (error as Error).message };
  }
}
