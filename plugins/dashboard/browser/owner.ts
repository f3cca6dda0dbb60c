import { ask, type Answer, type Refusal } from "./api.ts";
import { base } from "./dom.ts";
import { askForToken } from "./secret-form.ts";

let signingIn: Promise<boolean> | undefined;
/** Who said "Not now" is not asked again by what happens by itself. */
let isDeclined = false;
let signedIn = (): void => undefined;
/** When nobody told: the stream was cut off before. */
const unknown = "Your session has ended; a restart of the launcher ends every session.";
let why = unknown;

interface Questions {
  /** With its query. */
  latest: string;
  count: number;
  /** Number of the one whose answer is shown. */
  shown: number;
}
/** Of each address. */
const asked = new Map<string, Questions>();

/** `ask` for the signed in: when the session has ended meanwhile, a panel asks for the token, what stands on the page
 *  stays, and the request is sent again. */
export async function askOwner<T>(
  method: string,
  path: string,
  body?: object,
  etag?: string,
): Promise<Answer<T>> {
  for (;;) {
    const answer = await ask<T>(method, path, body, etag);
    if (!("refused" in answer)) isDeclined = false;
    else if (
      answer.refused.status === 401 &&
      !(isDeclined && method === "GET") &&
      (await signInHere())
    )
      continue;
    return answer;
  }
}

/** Loads something and shows it; answers the refusal, if there was one. Answers overtake each other: one that is older
 *  than what is shown, or to another query than the latest, is not shown, and a refusal that is older says nothing. */
export async function load<T>(path: string, show: (body: T) => void): Promise<Refusal | undefined> {
  const address = path.replace(/\?.*/, "");
  const questions = asked.get(address) ?? { latest: path, count: 0, shown: 0 };
  asked.set(address, questions);
  questions.latest = path;
  const mine = ++questions.count;
  const answer = await askOwner<T>("GET", path);
  if (mine < questions.shown) return undefined;
  if ("refused" in answer) return answer.refused;
  if (path !== questions.latest) return undefined;
  questions.shown = mine;
  show(answer.body);
  return undefined;
}

/** Why the session ended, for the panel that will ask; without a sentence it has not. */
export function sessionEnded(sentence = unknown): void {
  why = sentence;
}

/** Whoever declined has changed their mind. */
export function askAgain(): void {
  isDeclined = false;
}

/** What to do when somebody has signed in over the page. */
export function onSignedIn(act: () => void): void {
  signedIn = act;
}

/** Asks for the launcher token over the page; whether somebody is signed in afterwards. Never twice at a time. */
function signInHere(): Promise<boolean> {
  signingIn ??= askForToken({
    title: "Sign in again",
    text: `${why} What you typed on this page stays.`,
    action: "Sign in",
    cancel: "Not now",
    send: (token) => ask("POST", "/login", { token }),
    endsOn: ({ code }) => code === "setup_required",
  }).then((answer) => {
    signingIn = undefined;
    why = unknown;
    if (answer && "refused" in answer) location.assign(`${base}/setup`);
    const isIn = answer !== undefined && "body" in answer;
    isDeclined = !isIn;
    if (isIn) signedIn();
    return isIn;
  });
  return signingIn;
}
