// Answers GET /pico/history: a page of the turns of one session.
import { codeOf } from "../../../kernel/index.ts";
import { readWithout } from "../../../lib/pages.ts";
import { isSessionId, parseCursor } from "../../../lib/pico-wire/index.ts";
import type { Conversations, Page, Turn } from "../../conversations/index.ts";
import type { Admission } from "../handshake/admission.ts";
import { resolveSession, sessionForbidden } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import { readFeatures } from "../session/features.ts";
import { answerUsage, toFailureCode } from "../session/channel-adapter.ts";
import type { JsonResponse } from "./post-message.ts";

/** Requests in progress. The store reads one after the other, and writes in between. */
const maxInProgress = 16;
const maxLimit = 200;
const defaultLimit = 50;

export interface HistoryOptions {
  /** Undefined without the plugin: every page is empty. */
  readonly conversations: Pick<Conversations, "find" | "read"> | undefined;
  readonly newId: () => string;
}

interface HistoryRequest {
  readonly session: string;
  readonly limit: number;
  readonly before?: string;
}

const malformed = (message: string): Rejection => ({ code: "bad_handshake", message });

/** @returns The single value of a parameter, "" without one, undefined if it is repeated. */
function parameter(params: URLSearchParams, name: string): string | undefined {
  const [value = "", ...more] = params.getAll(name);
  return more.length === 0 ? value : undefined;
}

function parse(
  { params }: HandshakeRequest,
  admission: Admission,
  newId: () => string,
): HistoryRequest | Rejection {
  const name = parameter(params, "session_id");
  if (!name || !isSessionId(name)) return { code: "invalid_session_id" };
  const session = resolveSession(admission, name, newId);
  if (session === undefined) return sessionForbidden(admission);
  const limitText = parameter(params, "limit") ?? "x";
  const limit = limitText === "" ? defaultLimit : /^\d{1,3}$/.test(limitText) ? +limitText : 0;
  if (limit < 1 || limit > maxLimit)
    return malformed(`limit must be a whole number from 1 to ${maxLimit}.`);
  const before = parameter(params, "before");
  if (before === "") return { session, limit };
  if (before === undefined || !parseCursor(before))
    return malformed('before must be EPOCH:SEQ, the "before" of the previous page.');
  return { session, limit, before };
}

const emptyPage: Page<Turn> = { items: [] };

/** Names codes and token counts as in the frames. */
const toWire = ({ code, usage, ...turn }: Turn): object => ({
  ...turn,
  ...(code !== undefined && { code: toFailureCode(code) }),
  ...(usage && { usage: answerUsage(usage) }),
});

/** Creates the handler. A session without history has the same response as an unknown one. */
export function createHistoryHandler({ conversations, newId }: HistoryOptions) {
  let inProgress = 0;

  async function read(
    { session, ...options }: HistoryRequest,
    showsNotices: boolean,
  ): Promise<Page<Turn>> {
    const found = await conversations?.find({ channel: "pico", session });
    if (!found) return emptyPage;
    const isHidden = ({ kind }: Turn): boolean => kind === "notice" && !showsNotices;
    return readWithout((page) => conversations!.read(found.id, page), options, isHidden);
  }

  return async (
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): Promise<JsonResponse | Rejection> => {
    const request = parse(handshakeRequest, admission, newId);
    if ("code" in request) return request;
    if (inProgress >= maxInProgress)
      return { code: "busy", message: "Too many requests for history; try again shortly." };
    const showsNotices = readFeatures(handshakeRequest.params).notices;
    inProgress += 1;
    try {
      // The conversation may be deleted while it is read.
      const { items, before } = await read(request, showsNotices).catch((error: unknown) => {
        if (codeOf(error) === "not_found") return emptyPage;
        throw error;
      });
      return {
        status: 200,
        body: { turns: items.map(toWire), ...(before !== undefined && { before }) },
      };
    } catch (error) {
      if (codeOf(error) !== "store_unavailable") throw error;
      return {
        code: "store_unavailable",
        message: "The conversations cannot be read now; try again shortly.",
      };
    } finally {
      inProgress -= 1;
    }
  };
}
