/** Details of steps and plans, whose code loads when one of them is shown. @module */
import { onDemand } from "../../live/on-demand.ts";

/** Until it is loaded, the page shows the text that all clients show. */
export const useDetails = onDemand(async () => {
  const { StepDetails, Plan } = await import("./step-details.tsx");
  return { StepDetails, Plan };
});
