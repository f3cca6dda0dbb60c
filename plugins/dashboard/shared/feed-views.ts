/** Events of `GET /api/events`. @module */
import type { LogLineView } from "./views.ts";

/** Event names of `GET /api/events`, with the data of each. */
export interface FeedEvents {
  hello: { readonly resumed: boolean; readonly state: string; readonly now: number };
  state: { readonly at: number; readonly state: string };
  rate: {
    readonly at: number;
    readonly in: number;
    readonly out: number;
    readonly connections: number;
    readonly queuedBytes: number;
  };
  /** A question was asked or settled. */
  questions: { readonly at: number };
  connected: {
    readonly at: number;
    readonly connection: string;
    readonly session: string;
    readonly address: string;
    readonly method: string;
    readonly user: string;
  };
  disconnected: {
    readonly at: number;
    readonly connection: string;
    readonly session: string;
    readonly code: number;
    readonly reason: string;
    readonly initiator: string;
  };
  refused: {
    readonly at: number;
    readonly code: string;
    readonly address: string;
    readonly method?: string;
    readonly origin?: string;
    readonly retryAfterSeconds?: number;
  };
  "signed-in": {
    readonly at: number;
    readonly signIn: string;
    readonly address: string;
    readonly via: string;
  };
  "sign-in-refused": {
    readonly at: number;
    readonly code: string;
    readonly address: string;
    readonly via: string;
  };
  "signed-out": { readonly at: number; readonly signIn: string; readonly reason: string };
  program: { readonly at: number; readonly state: string; readonly restarts: number };
  token: { readonly at: number; readonly name: string; readonly what: "rotated" | "removed" };
  settings: {
    readonly at: number;
    readonly section: string;
    readonly keys?: readonly string[];
    readonly rejected?: string;
  };
  log: LogLineView;
  "log-skipped": { readonly count: number };
  missed: { readonly count: number };
  superseded: Readonly<Record<never, never>>;
  ended: { readonly reason: string };
}
export type FeedEventName = keyof FeedEvents;
