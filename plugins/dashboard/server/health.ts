// Responses that do not need the application: to health checks, and after an update of the program.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { DashboardContext } from "./context.ts";

export const updated = "Doorward was updated while it was running; restart it.";

interface HealthProblem {
  readonly state: string;
  readonly message: string;
}

/** @returns Why the launcher cannot serve; undefined for `/healthz`, which needs no reason. */
export function healthProblem(
  { runtime, services }: DashboardContext,
  url: string,
): HealthProblem | undefined {
  if (url.startsWith("/healthz")) return undefined;
  const state = runtime.stopping() ? "stopping" : runtime.serving() ? runtime.state() : "starting";
  if (state === "starting" || state === "stopping" || state === "unconfigured")
    return { state, message: `The launcher is ${state}; try again in a moment.` };
  const { conversations } = services;
  if (conversations?.ownership && conversations.health().state === "away")
    return { state, message: "The store that the nodes share is away; try again in a moment." };
  return undefined;
}

/** Sends the response of the application to a successful health check. */
export function sendOk(response: ServerResponse): void {
  const body = '{"status":"ok"}';
  response.writeHead(200, {
    vary: "Accept, Sec-Fetch-Mode",
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
  });
  response.end(body);
}

/** A browser shows the sentence, and a program reads it in the form of all errors. */
export function sendUpdated({ headers }: IncomingMessage, response: ServerResponse): void {
  const isPage = headers.accept?.includes("text/html");
  const type = isPage ? "text/plain" : "application/json";
  response.writeHead(503, {
    "cache-control": "no-store",
    "content-type": `${type}; charset=utf-8`,
  });
  response.end(
    isPage ? `${updated}\n` : JSON.stringify({ error: "unavailable", message: updated }),
  );
}
