// Shows the raw frames of the chat link.
import { el, live, show } from "./dom.ts";

const maxFrames = 200;
const maxFrameLength = 2000;

/** Collects raw frames and shows them while the box is checked. */
export function showRaw(): { add(direction: "in" | "out", text: string): void; clear(): void } {
  const list = live("frames")!;
  const box = document.querySelector<HTMLInputElement>("[data-raw]")!;
  box.addEventListener("change", () => {
    show(list, box.checked);
    list.scrollTop = list.scrollHeight;
  });
  return {
    add(direction, text) {
      const excerpt =
        text.length > maxFrameLength
          ? `${text.slice(0, maxFrameLength)}… (${text.length} characters)`
          : text;
      const follow = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
      list.append(
        el(
          "li",
          { class: direction },
          el("b", {}, direction === "in" ? "in" : "out"),
          el("span", {}, excerpt),
        ),
      );
      if (list.childElementCount > maxFrames) list.firstElementChild!.remove();
      if (follow) list.scrollTop = list.scrollHeight;
    },
    clear: () => list.replaceChildren(),
  };
}
