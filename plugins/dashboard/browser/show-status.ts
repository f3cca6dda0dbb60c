// Updates the overview with a new status.
import type { ChannelView, StatusView, TokenView, WarningView } from "../api/views.ts";
import { showActivity } from "./activity.ts";
import { chartBars, chartSentence } from "../ui/text/chart.ts";
import { live, make, setLive, setRows, show } from "./dom.ts";
import { formatCount } from "../ui/text/format.ts";
import { showRejections } from "./rejections.ts";
import { showProgram } from "./show-program.ts";
import { setServerTime, setTime } from "./times.ts";
import { storeLabel, tokenSourceLabel, stateLabel, tokenLabel } from "../ui/text/labels.ts";

/** Updates every live element of the page that the server rendered. */
export function showStatus(status: StatusView): void {
  showBadge("state", stateLabel(status.state).text, stateLabel(status.state).tone);
  setServerTime(status.now);
  showStart(status.startedAt);
  setRows(live("addresses"), status.addresses, () => status.addresses.map(addressRow));
  setRows(live("tokens"), status.tokens, () => status.tokens.map(tokenRow));
  setRows(live("warnings"), status.warnings, () => status.warnings.map(warningRow));
  show(live("warnings-card"), status.warnings.length > 0);
  if (status.channel) showChannel(status.channel);
  if (status.store) setLive("store", storeLabel(status.store));
  if (status.program) showProgram(status.program);
  showActivity(status);
}

/** Updates the start time, which changes when the launcher restarts. */
function showStart(startedAt: number): void {
  const uptime = live("uptime");
  if (uptime instanceof HTMLTimeElement) setTime(uptime, startedAt);
}

function showChannel(channel: ChannelView): void {
  showBadge("channel-badge", channel.enabled ? "On" : "Off", channel.enabled ? "ok" : "off");
  for (const view of document.querySelectorAll<HTMLElement>("[data-face]")) {
    show(view, (view.dataset["face"] === "on") === channel.enabled);
  }
  show(document.querySelector<HTMLElement>('[data-turn="off"]'), channel.enabled);
  const url = live("channel-url");
  if (url instanceof HTMLInputElement && url.value !== channel.url) url.value = channel.url;
  setLive("connections", formatCount(channel.connections));
  setLive("max-connections", formatCount(channel.maxConnections));
  setLive("messages-in", formatCount(channel.messagesIn));
  setLive("messages-out", formatCount(channel.messagesOut));
  showChart(channel.perMinute);
  showRejections(channel);
}

function showChart(perMinute: readonly number[]): void {
  const chart = live("chart");
  const rects = chart?.querySelectorAll("rect") ?? [];
  chartBars(perMinute).forEach((bar, index) => {
    const rect = rects[index];
    rect?.setAttribute("y", String(bar.y));
    rect?.setAttribute("height", String(bar.height));
    const title = rect?.querySelector("title");
    if (title) title.textContent = bar.label;
  });
  chart?.setAttribute("aria-label", chartSentence(perMinute));
  setLive("chart-top", formatCount(Math.max(0, ...perMinute)));
}

function showBadge(name: string, text: string, tone: string): void {
  setLive(name, text);
  const badge = live(name);
  if (badge) badge.className = `badge ${tone}`;
}

function addressRow(address: string): Node {
  const row = make("li", address);
  row.className = "mono";
  return row;
}

function tokenRow(token: TokenView): Node {
  return make("div", "", make("dt", tokenLabel(token.name)), make("dd", tokenSourceLabel(token)));
}

function warningRow({ text, fix }: WarningView): Node {
  const fixLine = make("p", fix);
  fixLine.className = "fix";
  return make("li", "", make("p", text), fixLine);
}
