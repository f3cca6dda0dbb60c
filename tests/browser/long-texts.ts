// Shows texts on a chat page and waits until they are drawn.
import type { Page } from "playwright-core";
import type { DashboardPages } from "./dashboard-pages.ts";

let id = 0;

/** Sends a message of the application. */
export function say(
  { site }: DashboardPages,
  content: string,
  rest: object = {},
  type = "message.create",
): void {
  const payload = { message_id: `m${++id}`, request_id: `r${id}`, content, final: true, ...rest };
  site.channel.send({ type, payload });
}

/** Opens a conversation, and waits until the page can draw markdown and code. */
export const openChat = (
  dashboard: DashboardPages,
  name: string,
  use: (page: Page) => Promise<void>,
): Promise<void> =>
  dashboard.openLive(`/chat/${name}`, async (page) => {
    await page.getByText("Connected", { exact: true }).waitFor();
    say(dashboard, "**ready**\n\n```js\nlet a\n```\n");
    await page.locator("pre .hljs-keyword").waitFor();
    await use(page);
  });

/**
 * Shows a text and a message after it. Waits until nothing more is drawn, with little work for the
 * page, because its tasks are measured.
 */
export async function show(dashboard: DashboardPages, page: Page, text: string): Promise<void> {
  say(dashboard, text);
  const end = `end of ${id}`;
  say(dashboard, end);
  await page.evaluate(async (last) => {
    const log = document.querySelector(".log")!;
    const hasEnd = () =>
      [...log.querySelectorAll(".prose")].slice(-3).some((one) => one.textContent === last);
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    let isChanged = true;
    new MutationObserver(() => (isChanged = true)).observe(log, { childList: true, subtree: true });
    for (let same = 0; same < 5; same = isChanged || !hasEnd() ? 0 : same + 1) {
      isChanged = false;
      await frame();
    }
  }, end);
}
