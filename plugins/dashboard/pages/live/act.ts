/** State of an act that a button starts. @module */
import { useState } from "preact/hooks";

/** @param run - The act. Resolves with its problem, or undefined after success. */
export function useAct<A extends readonly unknown[]>(
  run: (...args: A) => Promise<string | undefined>,
) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const act = async (...args: A): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    const found = await run(...args);
    setBusy(false);
    setProblem(found);
  };
  return { isBusy, problem, act };
}
