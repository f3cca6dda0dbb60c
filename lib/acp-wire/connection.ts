// JSON-RPC 2.0 over lines: one end of a connection, without a transport.

/** Codes of JSON-RPC, and of the Agent Client Protocol. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  cancelled: -32800,
  authRequired: -32000,
} as const;

/** An error in the reply to a request. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

type Id = string | number | null;

interface RpcMessage {
  readonly id?: Id;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

export interface ConnectionOptions {
  /** Writes one line, without its end. */
  readonly write: (line: string) => void;
  /**
   * Handles a request of the peer. An error becomes that of the reply: an `RpcError` with its code,
   * others as internal, without their message.
   *
   * @param signal - Aborts when the peer cancels the request, and at `close`.
   */
  readonly request: (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;
  /** Handles a notification, before the next line is read. */
  readonly notification: (method: string, params: unknown) => void;
  /** Reports a line that is not a message, or an answer to nothing. */
  readonly invalid: (line: string, reason: string) => void;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Runs before the next line is read. */
  readonly settled: () => void;
}

interface RequestOptions {
  readonly settled?: () => void;
  readonly signal?: AbortSignal;
}

/** Requests of the peer that may be open at the same time. */
const maxOpenRequests = 256;
const cancelMethod = "$/cancel_request";

const isId = (value: unknown): value is Id =>
  value === null || typeof value === "string" || typeof value === "number";

function toError(value: unknown): RpcError {
  const { code, message, data } = (
    typeof value === "object" && value !== null ? value : {}
  ) as Record<string, unknown>;
  return new RpcError(
    typeof code === "number" ? code : rpcCodes.internal,
    typeof message === "string" ? message : "unknown error",
    data,
  );
}

/** One end of a connection. `receive` takes the lines of the peer. */
export class RpcConnection {
  private readonly options: ConnectionOptions;
  private lastId = 0;
  private isClosed = false;
  private readonly waiting = new Map<Id, Waiting>();
  private readonly open = new Map<Id, AbortController>();

  constructor(options: ConnectionOptions) {
    this.options = options;
  }

  /** Takes one line of the peer. */
  receive(line: string): void {
    if (this.isClosed) return;
    const { invalid } = this.options;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return invalid(line, "it is not JSON");
    }
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return invalid(line, "it is not a JSON object");
    const { method, id } = message as RpcMessage;
    if (typeof method !== "string" && (method !== undefined || !isId(id)))
      return invalid(line, "it is neither a request nor an answer");
    this.accept(message as RpcMessage, line);
  }

  /**
   * Sends a request.
   *
   * @param options.settled - Runs when the answer has arrived, before the next line is read.
   * @param options.signal - Asks the peer to cancel the request. It still answers.
   * @returns The result, as it was sent.
   * @throws RpcError with the error of the peer, or the reason of `close`.
   */
  request(
    method: string,
    params: object,
    { settled, signal }: RequestOptions = {},
  ): Promise<unknown> {
    this.lastId += 1;
    const id = this.lastId;
    const cancel = (): void => {
      if (this.waiting.has(id)) this.notify(cancelMethod, { requestId: id });
    };
    return new Promise((resolve, reject) => {
      if (this.isClosed) return reject(new RpcError(rpcCodes.internal, "The connection is closed"));
      this.waiting.set(id, {
        resolve,
        reject,
        settled: () => {
          signal?.removeEventListener("abort", cancel);
          settled?.();
        },
      });
      this.send({ id, method, params });
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted === true) cancel();
    });
  }

  notify(method: string, params: object): void {
    this.send({ method, params });
  }

  /** Ends the connection: open requests of both ends fail with `reason`. */
  close(reason: Error): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const { reject, settled } of this.waiting.values()) {
      reject(reason);
      settled();
    }
    this.waiting.clear();
    for (const controller of this.open.values()) controller.abort(reason);
  }

  private send(message: object): void {
    if (!this.isClosed) this.options.write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  private accept(message: RpcMessage, line: string): void {
    const { id, method, params } = message;
    if (method === undefined) return this.settle(message, line);
    if (isId(id) && id !== null) return void this.serve(id, method, params);
    if (method !== cancelMethod) return this.options.notification(method, params);
    const { requestId } = (params ?? {}) as { requestId?: unknown };
    const asked = isId(requestId) ? this.open.get(requestId) : undefined;
    asked?.abort(new RpcError(rpcCodes.cancelled, "Cancelled"));
  }

  private settle(message: RpcMessage, line: string): void {
    const id = message.id ?? null;
    const own = this.waiting.get(id);
    if (!own) return this.options.invalid(line, "it answers no request");
    this.waiting.delete(id);
    if (message.error === undefined || message.error === null) own.resolve(message.result);
    else own.reject(toError(message.error));
    own.settled();
  }

  private async serve(id: Id, method: string, params: unknown): Promise<void> {
    const { open } = this;
    if (open.has(id) || open.size >= maxOpenRequests) {
      const error = { code: rpcCodes.invalidRequest, message: "Too many requests" };
      return this.send({ id, error });
    }
    const controller = new AbortController();
    open.set(id, controller);
    try {
      const result = await this.options.request(method, params, controller.signal);
      if (controller.signal.aborted) throw controller.signal.reason;
      this.send({ id, result: result ?? {} });
    } catch (error) {
      const { code, message, data } = toReply(error, controller.signal);
      this.send({ id, error: { code, message, ...(data !== undefined && { data }) } });
    } finally {
      open.delete(id);
    }
  }
}

function toReply(error: unknown, { aborted }: AbortSignal): RpcError {
  if (aborted) return new RpcError(rpcCodes.cancelled, "Cancelled");
  return error instanceof RpcError ? error : new RpcError(rpcCodes.internal, "Internal error");
}
