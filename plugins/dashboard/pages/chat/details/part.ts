/** Details of steps and plans, whose code loads when one of them is shown. @module */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type * as Details from "./step-details.tsx";

const part = signal<typeof Details | undefined>(undefined);
let loading: Promise<void> | undefined;

/** A failure leaves the text that all clients show. The next details try again. */
function load(): void {
  loading ??= import("./step-details.tsx").then(
    (found) => {
      part.value = found;
    },
    () => {
      loading = undefined;
    },
  );
}

/** @returns Undefined until the code is loaded, and if there is nothing to show. */
export function useDetails(
  isNeeded: boolean,
): Pick<typeof Details, "StepDetails" | "Plan"> | undefined {
  useEffect(() => {
    if (isNeeded) load();
  }, [isNeeded]);
  if (!isNeeded || !part.value) return undefined;
  const { StepDetails, Plan } = part.value;
  return { StepDetails, Plan };
}
