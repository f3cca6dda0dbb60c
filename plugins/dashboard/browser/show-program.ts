import type { ProgramView } from "../api/views.ts";
import { live, make, setLive, setRows, show } from "./dom.ts";
import { programFacts, programState } from "../ui/text/labels.ts";

/** Puts the program's state into the card the server drew. */
export function showProgram(program: ProgramView): void {
  const { text, tone } = programState(program.state);
  setLive("program-state", text);
  const badge = live("program-state");
  if (badge) badge.className = `badge ${tone}`;
  const facts = programFacts(program);
  setRows(live("program-facts"), facts, () =>
    facts.map(([name, value]) => make("div", "", make("dt", name), make("dd", value))),
  );
  setRows(live("program-said"), program.stderr, () =>
    program.stderr.map(({ text: said }) => make("li", said)),
  );
  show(live("program-silent"), program.stderr.length === 0);
}
