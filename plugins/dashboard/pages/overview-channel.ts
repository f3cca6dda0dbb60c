import { chartBars, chartHeight, chartSentence, chartWidth } from "../ui/text/chart.ts";
import { formatCount } from "../ui/text/format.ts";
import type { ChannelView, StatusView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";
import { refusedClients } from "./overview-refused.ts";

/** The card of the pico channel. Both its faces are in the page; the script shows the one that is true. */
export function channelCard({ channel, now }: StatusView, url: Site["url"]): Html {
  if (!channel) {
    return html`<section class="card" aria-labelledby="h-channel"><h2 id="h-channel">Pico channel</h2>
<p class="quiet-text">This service was started without a pico channel.</p></section>`;
  }
  return html`<section class="card channel" aria-labelledby="h-channel" data-live="channel">
<div class="card-head"><h2 id="h-channel">Pico channel</h2>
<span class="badge ${channel.enabled ? "ok" : "off"}" data-live="channel-badge">${channel.enabled ? "On" : "Off"}</span>
${switchable(channel) && turnOffButton(channel)}
</div>
<p class="said" role="status" data-live="channel-said"></p>
<div data-face="off"${channel.enabled && hidden}>${offFace(channel)}</div>
<div data-face="on"${!channel.enabled && hidden}>${onFace(channel)}</div>
${refusedClients(channel, now, url)}
</section>${turnOffDialog()}`;
}

const hidden = html` hidden`;

function turnOffButton({ enabled }: ChannelView): Html {
  return html`<button type="button" class="quiet scripted push" data-turn="off"${!enabled && hidden}>Turn off</button>`;
}

function switchable(channel: ChannelView): boolean {
  return channel.enabledManagedBy === undefined && channel.etag !== undefined;
}

function offFace(channel: ChannelView): Html {
  const bySetting = html`To turn it on, set <code>channels.pico.enabled</code> to <code>true</code> in
<code>config.json</code> and <code>channels.pico.token</code> in <code>.security.yml</code>.`;
  if (channel.enabledManagedBy !== undefined) {
    return html`<p>Programs talk to this service through the channel. It is off, as the environment variable
<code>${channel.enabledManagedBy}</code> says; change it there.</p>`;
  }
  if (!switchable(channel))
    return html`<p>Programs talk to this service through the channel. ${bySetting}</p>`;
  return html`<div class="invite"><div><p><b>Let programs in.</b> They connect to this service through one address
and show the channel token.</p>
<p class="quiet-text scripted">Turning it on makes a token in <code>.security.yml</code>, if there is none, and takes
effect at once.</p></div>
<button type="button" class="scripted" data-turn="on">Turn the channel on</button></div>
<noscript><p>${bySetting}</p></noscript>`;
}

function onFace(channel: ChannelView): Html {
  return html`<div class="address"><label for="channel-url">Address</label>
<div class="copyable"><input id="channel-url" class="mono" readonly value="${channel.url}" data-live="channel-url">
<button type="button" class="quiet scripted" data-copy="channel-url" aria-label="Copy address">Copy</button>
</div></div>
<dl class="figures">
<div><dt>Connections</dt><dd><span data-live="connections">${formatCount(channel.connections)}</span>
<small>of <span data-live="max-connections">${formatCount(channel.maxConnections)}</span></small></dd></div>
<div><dt>Messages in</dt><dd data-live="messages-in">${formatCount(channel.messagesIn)}</dd></div>
<div><dt>Messages out</dt><dd data-live="messages-out">${formatCount(channel.messagesOut)}</dd></div>
</dl>
${chart(channel.perMinute)}
${
  channel.enabledManagedBy !== undefined &&
  html`<p class="hint">The environment variable
<code>${channel.enabledManagedBy}</code> keeps the channel on.</p>`
}`;
}

function chart(perMinute: readonly number[]): Html {
  const bars = chartBars(perMinute).map(
    ({ x, y, width, height, label }) =>
      html`<rect x="${x}" y="${y}" width="${width}" height="${height}"><title>${label}</title></rect>`,
  );
  const highest = formatCount(Math.max(0, ...perMinute));
  return html`<figure class="chart"><figcaption>Messages per minute
<span class="quiet-text">highest <span data-live="chart-top">${highest}</span></span></figcaption>
<svg viewBox="0 0 ${chartWidth} ${chartHeight}" preserveAspectRatio="none" height="72" role="img"
 aria-label="${chartSentence(perMinute)}" data-live="chart">${bars}</svg>
<div class="axis" aria-hidden="true"><span>10 min ago</span><span>now</span></div></figure>`;
}

function turnOffDialog(): Html {
  return html`<dialog class="card" data-dialog="turn-off" aria-labelledby="h-turn-off"><form method="dialog">
<h2 id="h-turn-off">Turn the channel off?</h2>
<p><span data-live="turn-off-count"></span> It is turned on again with one click; the token stays.</p>
<div class="actions"><button class="quiet" value="cancel" autofocus>Keep it on</button>
<button value="off">Turn it off</button></div>
</form></dialog>`;
}
