/** Sends requests of a signed-in browser, and asks for the token again after a sign-out. @module */
import { signal } from "@preact/signals";
import { askToken } from "../frame/dialogs.ts";
import { base } from "./base.ts";
import { sendRequest, type ApiError, type ApiResult } from "./api.ts";

let signingIn: Promise<boolean> | undefined;
/** True after "Not now": background requests then do not open the dialog again. */
let isDeclined = false;
/** Code of the server; undefined if the stream closed before the server could send it. */
const signOutReason = signal<string | undefined>(undefined);
const signedInListeners = new Set<() => void>();

interface RequestOrder {
  /** Path of the latest request with its query. */
  latest: string;
  count: number;
  /** Number of the request whose response the page shows. */
  shown: number;
  /** Error of the last response that counted. */
  error: ApiError | undefined;
}
const requestsByPath = new Map<string, RequestOrder>();

/**
 * Sends a request. If the sign-in has ended, asks for the launcher token in a dialog and sends the
 * request again. The page keeps what the user typed. Never rejects.
 */
export async function requestAsOwner<T>(
  method: string,
  path: string,
  body?: object,
  etag?: string,
): Promise<ApiResult<T>> {
  for (;;) {
    const answer = await sendRequest<T>(method, path, body, etag);
    if (!("error" in answer)) isDeclined = false;
    else if (
      answer.error.status === 401 &&
      !(isDeclined && method === "GET") &&
      (await signInWithDialog())
    )
      continue;
    return answer;
  }
}

/**
 * Loads data and shows it. Responses can arrive in the wrong order: the page ignores a response or
 * error older than the shown data, and a response to an outdated query.
 *
 * @param reader - Names a part of the page that shows the same data as another one.
 * @returns The error of the data that the page shows, or undefined.
 */
export async function load<T>(
  path: string,
  show: (body: T) => void,
  reader = "",
): Promise<ApiError | undefined> {
  const key = reader + path.replace(/\?.*/, "");
  const order = requestsByPath.get(key) ?? { latest: path, count: 0, shown: 0, error: undefined };
  requestsByPath.set(key, order);
  order.latest = path;
  const number = ++order.count;
  const result = await requestAsOwner<T>("GET", path);
  if (number < order.shown || path !== order.latest) return order.error;
  order.error = "error" in result ? result.error : undefined;
  if ("error" in result) return result.error;
  order.shown = number;
  show(result.body);
  return undefined;
}

/** Sets the reason that the sign-in dialog explains. Without an argument, resets it. */
export function setSignOutReason(reason?: string): void {
  // A request may have opened the dialog before the server has sent the reason.
  if (reason !== undefined || !signingIn) signOutReason.value = reason;
}

/** Allows the sign-in dialog again after the user declined it. */
export function allowSignInPrompt(): void {
  isDeclined = false;
}

/** Calls `act` after each sign-in through the dialog. */
export function onSignedIn(act: () => void): void {
  signedInListeners.add(act);
}

/**
 * Asks for the launcher token in a dialog. Opens at most one dialog at a time.
 *
 * @returns True if the user signed in.
 */
function signInWithDialog(): Promise<boolean> {
  signOutReason.value ??= "lost";
  signingIn ??= askToken({
    title: "Your session has ended",
    text: "Sign in to continue here. Your draft and everything on this page are kept.",
    reason: signOutReason,
    verb: "Sign in",
    cancel: "Not now",
    keep: true,
    send: (token) => sendRequest("POST", "/login", { token }),
    endsOn: ({ code }) => code === "setup_required",
  }).then((answer) => {
    if (answer && "error" in answer) location.assign(`${base()}/setup`);
    const isIn = answer !== undefined && "body" in answer;
    signingIn = undefined;
    signOutReason.value = undefined;
    isDeclined = !isIn;
    if (isIn) for (const act of signedInListeners) act();
    return isIn;
  });
  return signingIn;
}
