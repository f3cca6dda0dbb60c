// Reads the address of the dashboard from the output of a launcher.

/** @returns The first address of the banner. */
export async function dashboardAddress({ stdout }) {
  let seen = "";
  for await (const text of stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    seen += text;
    const address = /http:\/\/[\d.]+:\d+\//.exec(seen);
    if (address) {
      stdout.resume();
      return address[0];
    }
  }
  throw new Error(`the launcher ended without printing its address: ${seen}`);
}
