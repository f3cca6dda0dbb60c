/** The dialog that keeps a page when its session has ended. @module */
import type { JSX } from "preact";
import { sendRequest } from "../live/api.ts";
import { openSetup } from "../live/owner.ts";
import { signOutReasonLabel } from "../../shared/sign-in-labels.ts";
import { TokenDialog } from "./token-dialog.tsx";

interface SignInDialogProps {
  /** Why the session ended, as a code; undefined if that is unknown. */
  readonly reason: string | undefined;
  readonly done: (signedIn: boolean) => void;
}

const keptText = "Sign in to continue here. Your draft and everything on this page are kept.";

/** Asks for the launcher token. Esc and a click outside do not close it. */
export function SignInDialog({ reason, done }: SignInDialogProps): JSX.Element {
  return (
    <TokenDialog
      title="Your session has ended"
      text={reason === undefined ? keptText : `${signOutReasonLabel(reason)} ${keptText}`}
      verb="Sign in"
      cancel="Not now"
      keep
      send={(token) => sendRequest("POST", "/login", { token })}
      endsOn={({ code }) => code === "setup_required"}
      done={(answer) => {
        if (answer && "error" in answer) openSetup();
        done(answer !== undefined && "body" in answer);
      }}
    />
  );
}
