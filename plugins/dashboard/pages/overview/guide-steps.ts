/** Tells which steps of the first visit are done. The card loads later. @module */
import { useState } from "preact/hooks";
import type { FirstStepsView, StatusView } from "../../shared/views.ts";
import { setCookie } from "../live/cookie.ts";

/** The guide of a first visit, while it is shown. */
export interface Guide {
  readonly status: StatusView;
  readonly firstSteps: FirstStepsView;
  /** In the order of the steps. */
  readonly done: readonly boolean[];
  readonly dismiss: () => void;
}

/** @param isWanted - False if this browser has dismissed the guide. */
export function useGuide(status: StatusView, isWanted: boolean): Guide | undefined {
  const [isDismissed, setDismissed] = useState(!isWanted);
  const { firstSteps, channel, echo } = status;
  if (isDismissed || !firstSteps || !channel) return undefined;
  const done = [channel.enabled, firstSteps.greeted, echo !== true, firstSteps.device];
  if (done.every(Boolean)) return undefined;
  const dismiss = (): void => {
    setCookie("guide", "off");
    setDismissed(true);
  };
  return { status, firstSteps, done, dismiss };
}
