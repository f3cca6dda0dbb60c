// Renders the channel card of the overview.
import { chartBars, chartHeight, chartSentence, chartWidth } from "../ui/text/chart.ts";
import { formatCount } from "../ui/text/format.ts";
import type { ChannelView, StatusView } from "../api/views.ts";
import { html, type Html } from "./html.ts";
import type { Site } from "./layout.ts";
import { rejectedConnections } from "./overview-refused.ts";

/** Renders the channel card with its on and off views. The script shows the current one. */
export function channelCard({ channel, now }: StatusView, url: Site["url"]): Html {
  if (!channel) {
    return html`<section class="card" aria-labelledby="h-channel"><h2 id="h-channel">Channel</h2>
<p class="quiet-text">This service has no channel.</p></section>`;
  }
  const [tone, state] = channel.enabled ? ["ok", "On"] : ["off", "Off"];
  return html`<section class="card channel" aria-labelledby="h-channel" data-live="channel">
<div class="card-head"><h2 id="h-channel">Channel</h2>
<span class="badge ${tone}" data-live="channel-badge">${state}</span>
${canSwitch(channel) && turnOffButton(channel)}
</div>
<p class="said" role="status" data-live="channel-said"></p>
<div data-face="off"${channel.enabled && hidden}>${offView(channel)}</div>
<div data-face="on"${!channel.enabled && hidden}>${onView(channel)}</div>
${rejectedConnections(channel, now, url)}
</section>${turnOffDialog()}`;
}

const hidden = html` hidden`;

function turnOffButton({ enabled }: ChannelView): Html {
  return html`<button type="button" class="quiet scripted push"
 data-turn="off"${!enabled && hidden}>Turn off</button>`;
}

function canSwitch(channel: ChannelView): boolean {
  return channel.enabledManagedBy === undefined && channel.etag !== undefined;
}

function offView(channel: ChannelView): Html {
  const bySetting = html`To turn it on, set <code>channels.pico.enabled</code> to
<code>true</code> in <code>config.json</code> and <code>channels.pico.token</code> in
<code>.security.yml</code>.`;
  if (channel.enabledManagedBy !== undefined) {
    return html`<p>Clients exchange messages with your application through the channel. The
environment variable <code>${channel.enabledManagedBy}</code> turns it off. Change the variable to
turn it on.</p>`;
  }
  if (!canSwitch(channel))
    return html`<p>Clients exchange messages with your application through the channel.
${bySetting}</p>`;
  return html`<div class="invite"><div><p><b>The channel is off.</b> Turn it on so that clients can
exchange messages with your application. Clients need the channel URL and the channel token.</p>
<p class="quiet-text scripted">Takes effect immediately. If there is no channel token, Doorward
creates one in <code>.security.yml</code>.</p></div>
<button type="button" class="scripted" data-turn="on">Turn on channel</button></div>
<noscript><p>${bySetting}</p></noscript>`;
}

function onView(channel: ChannelView): Html {
  const { connections, maxConnections, messagesIn, messagesOut } = channel;
  return html`<div class="address"><label for="channel-url">Channel URL</label>
<div class="copyable">
<input id="channel-url" class="mono" readonly value="${channel.url}" data-live="channel-url">
<button type="button" class="quiet scripted" data-copy="channel-url"
 aria-label="Copy channel URL">Copy</button>
</div></div>
<dl class="figures">
<div><dt>Connections</dt><dd><span data-live="connections">${formatCount(connections)}</span>
<small>of <span data-live="max-connections">${formatCount(maxConnections)}</span></small></dd></div>
<div><dt>Messages in</dt><dd data-live="messages-in">${formatCount(messagesIn)}</dd></div>
<div><dt>Messages out</dt><dd data-live="messages-out">${formatCount(messagesOut)}</dd></div>
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
      html`<rect x="${x}" y="${y}" width="${width}" height="${height}">
<title>${label}</title></rect>`,
  );
  const highest = formatCount(Math.max(0, ...perMinute));
  return html`<figure class="chart"><figcaption>Messages per minute
<span class="quiet-text">highest <span data-live="chart-top">${highest}</span></span></figcaption>
<svg viewBox="0 0 ${chartWidth} ${chartHeight}" preserveAspectRatio="none" height="72" role="img"
 aria-label="${chartSentence(perMinute)}" data-live="chart">${bars}</svg>
<div class="axis" aria-hidden="true"><span>10 min ago</span><span>Now</span></div></figure>`;
}

function turnOffDialog(): Html {
  return html`<dialog class="card" data-dialog="turn-off" aria-labelledby="h-turn-off">
<form method="dialog">
<h2 id="h-turn-off">Turn off the channel?</h2>
<p><span data-live="turn-off-count"></span> You can turn it on again later. The token does not
change.</p>
<div class="actions"><button class="quiet" value="cancel" autofocus>Cancel</button>
<button value="off">Turn off channel</button></div>
</form></dialog>`;
}
