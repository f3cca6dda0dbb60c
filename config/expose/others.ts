// Commands for ways in that Doorward does not set up itself.

interface Launcher {
  /** `host:port`. */
  readonly upstream: string;
  readonly name: string | undefined;
}

/** The settings that both ways need, as lines to copy. */
const settingsFor = (name: string): readonly string[] => [
  `In launcher-config.json: "trusted_proxies": ["127.0.0.1"], "allowed_hosts": ["${name}"]`,
  `In config.json: "gateway": { "public_url": "https://${name}" }`,
];

/** @returns The lines that `doorward expose tailscale` prints. */
export function tailscaleLines({ upstream, name = "MACHINE.TAILNET.ts.net" }: Launcher): string[] {
  return [
    "Serve it in your tailnet, with a certificate of Tailscale:",
    `  tailscale serve --bg http://${upstream}`,
    "Tailscale prints the name. Trust its proxy, and permit the name:",
    ...settingsFor(name).map((line) => `  ${line}`),
    "Check the way in:",
    `  doorward doctor -public https://${name}`,
  ];
}

/** @returns The lines that `doorward expose cloudflare` prints. */
export function cloudflareLines({ upstream, name = "door.example.org" }: Launcher): string[] {
  return [
    "Create a tunnel of Cloudflare, once:",
    "  cloudflared tunnel login",
    "  cloudflared tunnel create doorward",
    `  cloudflared tunnel route dns doorward ${name}`,
    "Run it, and later as a service (cloudflared service install):",
    `  cloudflared tunnel run --url http://${upstream} doorward`,
    "Trust its proxy, and permit the name:",
    ...settingsFor(name).map((line) => `  ${line}`),
    '  In config.json: "media": { "max_file_mb": 100 }, which most plans of Cloudflare permit',
    "Cloudflare decrypts all traffic. Check the way in:",
    `  doorward doctor -public https://${name}`,
  ];
}
