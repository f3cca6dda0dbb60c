// Updates the program card of the overview.
import type { ProgramView } from "../api/views.ts";
import { live, make, setLive, setRows, show } from "./dom.ts";
import { deafLabel, programDetails, programState } from "../ui/text/labels.ts";

/** Updates the card that the server rendered. */
export function showProgram(program: ProgramView): void {
  const { text, tone } = programState(program.state);
  setLive("program-state", text);
  const badge = live("program-state");
  if (badge) badge.className = `badge ${tone}`;
  const details = programDetails(program);
  setRows(live("program-details"), details, () =>
    details.map(([name, value]) => make("div", "", make("dt", name), make("dd", value))),
  );
  setLive("program-deaf-text", deafLabel(program));
  show(live("program-deaf"), program.deaf > 0);
  setRows(live("program-stderr"), program.stderr, () =>
    program.stderr.map((line) => make("li", line.text)),
  );
  show(live("program-silent"), program.stderr.length === 0);
}
