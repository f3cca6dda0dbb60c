// Sends requests of a signed-in browser, and asks for the token again if the sign-in has ended.
import { sendRequest, type ApiResult, type ApiError } from "./api.ts";
import { base } from "./dom.ts";
import { askForToken } from "./secret-form.ts";

let signingIn: Promise<boolean> | undefined;
/** True after "Not now": background requests then do not open the prompt again. */
let isDeclined = false;
let signedIn = (): void => undefined;
/** Used if the stream closed before the server could send the reason. */
const unknownReason = "Your session has ended. A restart of the launcher signs out all browsers.";
let signOutReason = unknownReason;

interface RequestOrder {
  /** Path of the latest request with its query. */
  latest: string;
  count: number;
  /** Number of the request whose response the page shows. */
  shown: number;
}
const requestsByPath = new Map<string, RequestOrder>();

/**
 * Sends a request. If the sign-in has ended, asks for the launcher token in a dialog and sends the
 * request again. The page keeps what the user typed.
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
 * @returns The error, or undefined.
 */
export async function load<T>(
  path: string,
  show: (body: T) => void,
): Promise<ApiError | undefined> {
  const key = path.replace(/\?.*/, "");
  const order = requestsByPath.get(key) ?? { latest: path, count: 0, shown: 0 };
  requestsByPath.set(key, order);
  order.latest = path;
  const number = ++order.count;
  const result = await requestAsOwner<T>("GET", path);
  if (number < order.shown) return undefined;
  if ("error" in result) return result.error;
  if (path !== order.latest) return undefined;
  order.shown = number;
  show(result.body);
  return undefined;
}

/** Sets the reason shown by the sign-in dialog. Without an argument, resets it. */
export function setSignOutReason(sentence = unknownReason): void {
  signOutReason = sentence;
}

/** Allows the sign-in dialog again after the user declined it. */
export function allowSignInPrompt(): void {
  isDeclined = false;
}

/** Sets the callback that runs after a sign-in through the dialog. */
export function onSignedIn(act: () => void): void {
  signedIn = act;
}

/**
 * Asks for the launcher token in a dialog. Opens at most one dialog at a time.
 *
 * @returns True if the user signed in.
 */
function signInWithDialog(): Promise<boolean> {
  signingIn ??= askForToken({
    title: "Sign in again",
    text: `${signOutReason} Your input on this page is kept.`,
    action: "Sign in",
    cancel: "Not now",
    send: (token) => sendRequest("POST", "/login", { token }),
    endsOn: ({ code }) => code === "setup_required",
  }).then((answer) => {
    signingIn = undefined;
    signOutReason = unknownReason;
    if (answer && "error" in answer) location.assign(`${base}/setup`);
    const isIn = answer !== undefined && "body" in answer;
    isDeclined = !isIn;
    if (isIn) signedIn();
    return isIn;
  });
  return signingIn;
}
