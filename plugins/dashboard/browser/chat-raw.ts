import { el, live, show } from "./dom.ts";

const most = 200;
const longest = 2000;

/** The frames as they travel, beside the messages while the box is checked. */
export function showRaw(): { add(direction: "in" | "out", text: string): void; clear(): void } {
  const list = live("frames")!;
  const box = document.querySelector<HTMLInputElement>("[data-raw]")!;
  box.addEventListener("change", () => {
    show(list, box.checked);
    list.scrollTop = list.scrollHeight;
  });
  return {
    add(direction, text) {
      const cut =
        text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
      const follow = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
      list.append(
        el(
          "li",
          { class: direction },
          el("b", {}, direction === "in" ? "in" : "out"),
          el("span", {}, cut),
        ),
      );
      if (list.childElementCount > most) list.firstElementChild!.remove();
      if (follow) list.scrollTop = list.scrollHeight;
    },
    clear: () => list.replaceChildren(),
  };
}
