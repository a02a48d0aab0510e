/**
 * What the console's page may load and connect to (CSP Level 3): the program that serves it, the address its
 * links name, and the rooms of its web calls. Pure.
 */

/** The value of `Content-Security-Policy`; `livekitUrl` where web calls run in LiveKit rooms. */
export function consolePolicy(publicUrl: string, livekitUrl: string | undefined): string {
  const connections = [...origins(publicUrl), ...(livekitUrl === undefined ? [] : roomOrigins(livekitUrl))];
  return [
    "default-src 'self'",
    "script-src 'self'",
    // Components set sizes and colours as styles of their elements.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self'",
    "font-src 'self'",
    // A recording and a sample of a voice are played from memory.
    "media-src 'self' blob:",
    `connect-src ${["'self'", ...new Set(connections)].join(' ')}`,
    "worker-src 'none'",
    "object-src 'none'",
    "frame-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

/** An address for requests and for sockets. */
function origins(url: string): string[] {
  const { host, protocol } = new URL(url);
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  return isSecure ? [`https://${host}`, `wss://${host}`] : [`http://${host}`, `ws://${host}`];
}

/** LiveKit's cloud sends a client on to a host of its region. */
function roomOrigins(livekitUrl: string): string[] {
  const isCloud = new URL(livekitUrl).hostname.endsWith('.livekit.cloud');
  return [...origins(livekitUrl), ...(isCloud ? ['https://*.livekit.cloud', 'wss://*.livekit.cloud'] : [])];
}
