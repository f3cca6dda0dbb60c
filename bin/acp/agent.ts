// The agent's side of the Agent Client Protocol, for editors.
import { randomUUID } from "node:crypto";
import { readParams, RpcConnection, RpcError, rpcCodes } from "../../lib/acp-wire/index.ts";
import { sanitizeLine } from "../client/text.ts";
import {
  initializeRequest,
  listRequest,
  loadSessionRequest,
  newSessionRequest,
  promptRequest,
  sessionRequest,
} from "./requests.ts";
import { EditorSession, type OpenLink } from "./session.ts";

/** A conversation in a list. */
export interface ListedSession {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title?: string;
  readonly updatedAt?: string;
}

interface AgentOptions {
  readonly version: string;
  /** Writes one line, without its end. */
  readonly write: (line: string) => void;
  /** Reports what is not part of the protocol. */
  readonly notice: (text: string) => void;
  readonly openLink: OpenLink;
  /** The conversation of all threads. Absent: each thread has its own. */
  readonly sessionId?: string | undefined;
  /** @returns The conversations of the server; undefined if it does not tell. */
  readonly list: (
    cwd: string,
    cursor: string | undefined,
  ) => Promise<
    | { readonly sessions: readonly ListedSession[]; readonly nextCursor?: string | undefined }
    | undefined
  >;
}

const protocolVersion = 1;

type Method = (params: unknown, signal: AbortSignal) => Promise<object>;

/** Turns every error into one that the editor can show. */
const toRpcError = (error: unknown): RpcError =>
  error instanceof RpcError
    ? error
    : new RpcError(rpcCodes.internal, sanitizeLine((error as Error).message));

/** The response of the request is written first. */
const releaseLater = (session: EditorSession): void => void setImmediate(() => session.release());

export class EditorAgent {
  private readonly options: AgentOptions;
  private readonly peer: RpcConnection;
  private readonly sessions = new Map<string, Promise<EditorSession>>();
  private showsForms = false;
  private readonly methods: Readonly<Record<string, Method>> = {
    initialize: (params) => this.initialize(params),
    "session/new": (params) => this.newSession(params),
    "session/load": (params) => this.load(params),
    "session/resume": (params) => this.resume(params),
    "session/list": (params) => this.list(params),
    "session/close": (params) => this.closeSession(params),
    "session/prompt": (params, signal) => this.prompt(params, signal),
  };

  constructor(options: AgentOptions) {
    this.options = options;
    this.peer = new RpcConnection({
      write: options.write,
      request: (method, params, signal) => this.serve(method, params, signal),
      notification: (method, params) => this.notified(method, params),
      invalid: (line, reason) =>
        options.notice(`a line was ignored, because ${reason}: ${line.slice(0, 80)}`),
    });
  }

  /** Takes one line of the editor. */
  receive(line: string): void {
    this.peer.receive(line);
  }

  /** Closes the links. Answers that run go on. */
  async close(): Promise<void> {
    this.peer.close(new RpcError(rpcCodes.internal, "The connection is closed"));
    const opened = await Promise.allSettled(this.sessions.values());
    const open = opened.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    await Promise.all(open.map((session) => session.close()));
  }

  private async serve(method: string, params: unknown, signal: AbortSignal): Promise<object> {
    const handle = Object.hasOwn(this.methods, method) ? this.methods[method] : undefined;
    if (!handle)
      throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${sanitizeLine(method)}`);
    try {
      return await handle(params, signal);
    } catch (error) {
      throw toRpcError(error);
    }
  }

  private notified(method: string, params: unknown): void {
    if (method !== "session/cancel") return;
    const { success, data } = sessionRequest.safeParse(params);
    const session = success ? this.sessions.get(data.sessionId) : undefined;
    session?.then((open) => open.cancel()).catch(() => undefined); // It never opened.
  }

  private open(id: string, cwd: string): Promise<EditorSession> {
    const known = this.sessions.get(id);
    if (known) return known;
    const session = new EditorSession({
      id,
      cwd,
      openLink: this.options.openLink,
      notify: (method, params) => this.peer.notify(method, params),
      request: (method, params, signal) => this.peer.request(method, params, { signal }),
      showsForms: () => this.showsForms,
    });
    const opening = session.open().then(
      () => session,
      async (error: unknown) => {
        this.sessions.delete(id);
        await session.close();
        throw error;
      },
    );
    this.sessions.set(id, opening);
    return opening;
  }

  private async openSession(id: string): Promise<EditorSession> {
    const session = await this.sessions.get(id);
    if (session) return session;
    throw new RpcError(
      rpcCodes.invalidParams,
      `"sessionId": no session ${sanitizeLine(id)} is open. Send session/load first.`,
    );
  }

  private async initialize(params: unknown): Promise<object> {
    const { clientCapabilities } = readParams(initializeRequest, params);
    this.showsForms = clientCapabilities.elicitation.form;
    return {
      protocolVersion,
      agentInfo: { name: "doorward", title: "Doorward", version: this.options.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
      authMethods: [],
    };
  }

  private async newSession(params: unknown): Promise<object> {
    const { cwd } = readParams(newSessionRequest, params);
    const session = await this.open(this.options.sessionId ?? randomUUID(), cwd);
    releaseLater(session);
    return { sessionId: session.id };
  }

  private async load(params: unknown): Promise<object> {
    const { sessionId, cwd } = readParams(loadSessionRequest, params);
    const session = await this.open(sessionId, cwd);
    try {
      await session.replay();
    } finally {
      releaseLater(session);
    }
    return {};
  }

  private async resume(params: unknown): Promise<object> {
    const { sessionId, cwd } = readParams(loadSessionRequest, params);
    releaseLater(await this.open(sessionId, cwd));
    return {};
  }

  private async list(params: unknown): Promise<object> {
    const { cwd = process.cwd(), cursor } = readParams(listRequest, params);
    const listed = await this.options.list(cwd, cursor);
    if (listed) return listed;
    const own = await Promise.all(this.sessions.values());
    return { sessions: own.map((session) => ({ sessionId: session.id, cwd: session.cwd })) };
  }

  private async closeSession(params: unknown): Promise<object> {
    const { sessionId } = readParams(sessionRequest, params);
    const session = await this.openSession(sessionId);
    this.sessions.delete(sessionId);
    session.cancel();
    await session.close();
    return {};
  }

  private async prompt(params: unknown, signal: AbortSignal): Promise<object> {
    const { sessionId, prompt } = readParams(promptRequest, params);
    const session = await this.openSession(sessionId);
    return { stopReason: await session.prompt(prompt, signal) };
  }
}
