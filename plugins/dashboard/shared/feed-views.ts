/** Events of `GET /api/events`. @module */
import type { PicoServerEvents } from "../../pico-server/index.ts";
import type { ProgramEvents } from "../../program/index.ts";
import type { LogLineView } from "./views.ts";

interface At {
  /** Unix milliseconds. */
  readonly at: number;
}

/** Event names of `GET /api/events`, with the data of each. */
export interface FeedEvents {
  hello: { readonly resumed: boolean; readonly state: string; readonly now: number };
  state: At & { readonly state: string };
  rate: At & {
    readonly in: number;
    readonly out: number;
    readonly connections: number;
    readonly queuedBytes: number;
  };
  /** The flags of a conversation have changed. */
  flags: At & { readonly conversation: string };
  /** A question was asked or settled. */
  questions: At;
  connected: At & PicoServerEvents["pico-server:connected"];
  disconnected: At & PicoServerEvents["pico-server:disconnected"];
  refused: At & (PicoServerEvents["pico-server:refused"] | { code: "wrong_path"; address: string });
  "signed-in": At & { readonly signIn: string; readonly address: string; readonly via: string };
  "sign-in-refused": At & { readonly code: string; readonly address: string; readonly via: string };
  "signed-out": At & { readonly signIn: string; readonly reason: string };
  /** The application says something else about itself. */
  application: At;
  program: At & ProgramEvents["program:state-changed"];
  token: At & { readonly name: string; readonly what: "rotated" | "removed" };
  /** A key was created, used for the first time, changed or ended. */
  key: At & { readonly id: string; readonly what: string };
  settings: At & {
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
