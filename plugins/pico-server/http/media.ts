// Serves POST /pico/media and GET /pico/media/ID: files of a session.
import type { ServerResponse } from "node:http";
import { codeOf } from "../../../kernel/index.ts";
import { messageErrors } from "../../../lib/pico-wire/index.ts";
import type { Http } from "../../http/index.ts";
import type { MediaFiles, StoredFile } from "../../media/index.ts";
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

/** Headers that pages of allowed origins read, for example to resume a download. */
const exposedHeaders = {
  "Access-Control-Expose-Headers":
    "Accept-Ranges, Content-Disposition, Content-Range, ETag, Retry-After, WWW-Authenticate",
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
  downloads_busy: "busy",
  media_unavailable: "unavailable",
  unknown_media: "not_found",
};

/** @returns The id in a path such as `/pico/media/m_1f…`; undefined for other paths. */
export const fileIdOf = (path: string): string | undefined =>
  /^\/pico\/media\/([^/]+)$/.exec(path)?.[1];

/** A file of another session has the same response as an unknown one. */
const mayRead = ({ scope }: Admission, { channel, session }: StoredFile): boolean =>
  channel === "pico" && (scope === undefined || scope.resolve(session) === session);

export class MediaRoutes {
  private readonly options: MediaRouteOptions;

  constructor(options: MediaRouteOptions) {
    this.options = options;
  }

  /** @returns The stored file, a rejection, or undefined if the client has left. */
  async upload(
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): Promise<JsonResponse | Rejection | undefined> {
    const { media, isWithinRate, runtime, access } = this.options;
    const { admissionControl } = access;
    if (!media) return notFound;
    const { request, peer, params } = handshakeRequest;
    if (!isWithinRate(peer.key, runtime.clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const { newId } = runtime;
    const session = await sessionOfUrl(params, admission, newId, access.sessionGuard);
    if (typeof session !== "string") return session;
    const isCurrent = (): boolean => admissionControl.expired(admission) === undefined;
    try {
      const file = await media.receive(request, {
        address: { channel: "pico", session },
        sender: admission.sender.id,
        key: peer.key,
        isCurrent,
      });
      const { http, entrance } = this.options;
      const url = http.url(mediaPath(file.id, entrance));
      return { status: 201, body: media.view(file, url) };
    } catch (error) {
      if (codeOf(error) === "upload_incomplete") return undefined;
      return admissionControl.expired(admission) ?? this.toRejection(error);
    }
  }

  /** @returns A rejection, or undefined after the response. */
  async download(
    id: string,
    { request }: HandshakeRequest,
    admission: Admission,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
  ): Promise<Rejection | undefined> {
    const { media, http } = this.options;
    try {
      const file = await media?.get(id);
      if (!media || !file || !mayRead(admission, file)) return notFound;
      const hold = (bytes: number) => http.holdResponse(response, bytes);
      const exposed = "Access-Control-Expose-Headers" in headers ? exposedHeaders : {};
      const all = { ...headers, ...exposed };
      await media.send(file, request, response, { hold, headers: all });
      return undefined;
    } catch (error) {
      return this.toRejection(error);
    }
  }

  private toRejection(error: unknown): Rejection {
    const code = codes[codeOf(error)];
    if (code === undefined) throw error;
    if (code === "unavailable")
      this.options.runtime.log.error({ err: error }, "Files cannot be stored or read");
    return code === "not_found" ? notFound : { code, message: (error as Error).message };
  }
}
