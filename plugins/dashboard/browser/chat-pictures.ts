import { button, el } from "./dom.ts";

const types = /^image\/(png|jpeg|gif|webp|bmp)$/;
const most = 20 * 1024 * 1024;

export interface Pictures {
  /** `data:` addresses. */
  all(): readonly string[];
  /** Resolves when what was chosen has been read. */
  ready(): Promise<unknown>;
  clear(): void;
}

/** Pictures that go with the next message: chosen, pasted or dropped. */
export function choosePictures(
  form: HTMLFormElement,
  place: HTMLElement,
  complain: (text: string) => void,
): Pictures {
  let chosen: string[] = [];
  let reading: Promise<unknown> = Promise.resolve();
  const draw = (): void =>
    place.replaceChildren(
      ...chosen.map((url, at) =>
        el(
          "div",
          { class: "chosen" },
          el("img", { src: url, alt: `Picture ${at + 1}` }),
          button("Remove", "quiet small", () => {
            chosen = chosen.filter((_, other) => other !== at);
            draw();
          }),
        ),
      ),
    );
  const read = async (files: readonly File[]): Promise<void> => {
    for (const file of files) {
      if (!types.test(file.type))
        complain(`${file.name || "That"} is no PNG, JPEG, GIF, WebP or BMP picture.`);
      else if (file.size > most) complain(`${file.name} has more than 20 MiB.`);
      else {
        const url = await dataUrl(file).catch(() => complain(`${file.name} cannot be read.`));
        if (url) chosen = [...chosen, url];
      }
    }
    draw();
  };
  const add = (files: readonly File[]): Promise<unknown> => {
    reading = reading.then(() => read(files));
    return reading;
  };
  const field = form.querySelector<HTMLInputElement>("[data-picture]")!;
  field.addEventListener("change", () => {
    void add([...(field.files ?? [])]);
    field.value = "";
  });
  form.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) event.preventDefault();
    void add(files);
  });
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    void add([...(event.dataTransfer?.files ?? [])]);
  });
  return {
    all: () => chosen,
    ready: () => reading,
    clear: () => {
      chosen = [];
      draw();
    },
  };
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error ?? new Error("unreadable")));
    reader.readAsDataURL(file);
  });
}
