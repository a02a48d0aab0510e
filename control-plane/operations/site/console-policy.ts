/**
 * The console's Content-Security-Policy (CSP Level 3): it may load from and connect to its own server,
 * PUBLIC_URL, and the LiveKit server of its web calls. Pure.
 */

/** Value of `Content-Security-Policy`; `livekitUrl` if web calls use LiveKit rooms. */
export function consolePolicy(publicUrl: string, livekitUrl: string | undefined): string {
  const connections = [...origins(publicUrl), ...(livekitUrl === undefined ? [] : roomOrigins(livekitUrl))];
  return [
    "default-src 'self'",
    "script-src 'self'",
    // Components set sizes and colours as inline styles.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self'",
    "font-src 'self'",
    // Recordings and voice samples are played from memory.
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

/** An origin for requests and for WebSockets. */
function origins(url: string): string[] {
  const { host, protocol } = new URL(url);
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  return isSecure ? [`https://${host}`, `wss://${host}`] : [`http://${host}`, `ws://${host}`];
}

/** LiveKit's cloud redirects a client to a host in its region. */
function roomOrigins(livekitUrl: string): string[] {
  const isCloud = new URL(livekitUrl).hostname.endsWith('.livekit.cloud');
  return [...origins(livekitUrl), ...(isCloud ? ['https://*.livekit.cloud', 'wss://*.livekit.cloud'] : [])];
}
