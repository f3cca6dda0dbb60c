// Starts a service with the AG-UI protocol, and loads the client of AG-UI.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startProtocols, tokens, type ServiceOptions } from "../../../support/protocol-service.ts";
import { optional } from "../../../support/tools.ts";

export { echo, tokens, type Handler } from "../../../support/protocol-service.ts";

/** Starts the service, with the URL of this protocol. */
export async function startAgUi(options?: ServiceOptions) {
  const service = await startProtocols(options);
  return Object.assign(service, { url: service.kernel.services.agUi.status().url! });
}
export type Service = Awaited<ReturnType<typeof startAgUi>>;

export interface AgentMessage {
  readonly id: string;
  readonly role: string;
  readonly content?: unknown;
  readonly toolCalls?: readonly { readonly function: { readonly name: string } }[];
}
export interface RunEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}
interface Subscriber {
  readonly onEvent?: (given: { event: RunEvent }) => void;
}
export interface Agent {
  messages: AgentMessage[];
  addMessage(message: object): void;
  runAgent(options?: object, subscriber?: Subscriber): Promise<{ outcome?: unknown }>;
  abortRun(): void;
}
interface Observable<T> {
  subscribe(observer: { next?: (value: T) => void; error: (error: Error) => void }): unknown;
}
export interface Library {
  readonly HttpAgent: new (options: object) => Agent;
  readonly verifyEvents: (debug: boolean) => (source: Observable<RunEvent>) => Observable<RunEvent>;
}

const modules = fileURLToPath(new URL("../../../clients/node_modules", import.meta.url));
const client = join(modules, "@ag-ui", "client", "dist", "index.mjs");
export const isInstalled =
  optional(
    existsSync(client) || undefined,
    "the npm package @ag-ui/client (npm ci --prefix tests/clients)",
  ) ?? false;

export const loadLibrary = async (): Promise<Library> =>
  (await import(pathToFileURL(client).href)) as Library;
/** The observables of the client. */
export const loadRxjs = async (): Promise<{ from(list: readonly RunEvent[]): never }> =>
  (await import(pathToFileURL(join(modules, "rxjs", "dist", "cjs", "index.js")).href)) as never;

export const authorization = { Authorization: `Bearer ${tokens.ag_ui}` };

/** Creates an agent of the library for a thread. */
export const createAgent = (
  { HttpAgent }: Library,
  { url, thread, ...options }: { url: string; thread: string; messages?: readonly AgentMessage[] },
): Agent => new HttpAgent({ url, threadId: thread, headers: authorization, ...options });

let next = 0;
/** Adds a message of the user, and runs the agent. Returns all events, also of a failed run. */
export async function send(agent: Agent, content: unknown = "hi", options: object = {}) {
  agent.addMessage({ id: `u${(next += 1)}`, role: "user", content });
  return run(agent, options);
}
export async function run(agent: Agent, options: object = {}) {
  const events: RunEvent[] = [];
  const onEvent = ({ event }: { event: RunEvent }): void => void events.push(event);
  const failure = await agent.runAgent(options, { onEvent }).then(
    () => undefined,
    (error: Error & { status?: number; payload?: unknown }) => error,
  );
  return { events, failure, types: events.map(({ type }) => type) };
}

/** The text of the latest message of the application. */
export const textOf = ({ messages }: Agent, role = "assistant"): unknown =>
  messages.findLast((message) => message.role === role && message.content !== undefined)?.content;
