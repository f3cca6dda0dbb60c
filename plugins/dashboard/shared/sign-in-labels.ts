// Labels of sign-ins, failed sign-ins and the ends of sign-ins.
import { lookUp } from "./look-up.ts";

const signInMethodLabels: Readonly<Record<string, string>> = {
  form: "Sign-in form",
  login: "Sign-in form",
  link: "Sign-in link",
  query: "Token in URL",
  setup: "Setup",
  bearer: "Authorization header",
  current: "Action confirmation",
};

const failedSignInLabels: Readonly<Record<string, string>> = {
  invalid_token: "Wrong token",
  invalid_code: "Wrong setup code",
  rate_limited: "Too many attempts",
  link_expired: "Sign-in link used or expired",
  origin_not_allowed: "Request from another site",
  host_not_allowed: "Unknown host name",
};

/** Returns the label of a sign-in method, or the method name if it has no label. */
export function signInMethodLabel(via: string): string {
  return lookUp(signInMethodLabels, via) ?? via;
}

export function failedSignInLabel(code: string): string {
  return lookUp(failedSignInLabels, code) ?? code.replaceAll("_", " ");
}

const signOutReasons: Readonly<Record<string, string>> = {
  "sign-out": "You signed out in another tab.",
  revoked: "You were signed out from another browser.",
  expired: "Your session has expired.",
  evicted: "Too many browsers signed in, so the oldest sign-in ended.",
  rotated: "The launcher token was rotated, which signs out all browsers.",
  replaced: "You signed in again in another tab.",
  lost: "Doorward was restarted, or your sign-in expired in the meantime.",
  "maker-ended":
    "The browser that created your sign-in link signed out, which ends this sign-in too.",
};

/** Explains why the sign-in ended. */
export function signOutReasonLabel(reason: string): string {
  return lookUp(signOutReasons, reason) ?? "Your session has ended.";
}
