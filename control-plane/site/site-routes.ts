/** What the server shows a browser: the console at `/`, the browser client and the widget, all built by `npm run prepare` (running.md, "Routes the specification names without a path"). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { type ApiServer, answerPreflight } from '../server.ts';

const OPEN = { config: { access: 'none' as const }, schema: { hide: true } };

/** Only what the program itself serves may run in the console; a call's audio and its worklets come from blobs. */
const CONSOLE_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob: https:",
  "worker-src 'self' blob:",
  "connect-src 'self' ws: wss: https:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

/** What the browser client loads only when it needs it. */
const CLIENT_PART = /^sdk-[a-z-]+\.js$/;

/** Registers the console, `/sdk.js` with its parts and `/widget.js` from the folder of built web files. */
export async function registerSiteRoutes(app: ApiServer, distDirectory: string): Promise<void> {
  const consoleDirectory = join(distDirectory, 'console');
  if (existsSync(join(consoleDirectory, 'index.html'))) await serveConsole(app, consoleDirectory);
  else app.get('/', OPEN, (_request, reply) => reply.type('text/html; charset=utf-8').send(NOT_BUILT));
  const parts = existsSync(distDirectory) ? readdirSync(distDirectory).filter((file) => CLIENT_PART.test(file)) : [];
  for (const file of ['sdk.js', 'widget.js', ...parts]) {
    answerPreflight(app, `/${file}`, 'GET');
    app.get(`/${file}`, { config: { access: 'none', anyOrigin: true }, schema: { hide: true } }, (_request, reply) => {
      reply.header('Cross-Origin-Resource-Policy', 'cross-origin');
      if (existsSync(join(distDirectory, file))) return reply.sendFile(file, distDirectory, { maxAge: '5m' });
      return reply.code(404).type('text/javascript; charset=utf-8').send('// Not built: run "npm run prepare" and start again.\n');
    });
  }
}

async function serveConsole(app: ApiServer, directory: string): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (route.url === '/*') route.config = { ...route.config, access: 'none' };
  });
  // Deep links into the console are the page's own to resolve.
  for (const url of ['/console', '/console/*']) app.get(url, OPEN, (_request, reply) => reply.sendFile('index.html', directory, { maxAge: 0 }));
  await app.register(fastifyStatic, {
    root: directory,
    wildcard: true,
    setHeaders: (reply, path) => {
      reply.header('Content-Security-Policy', CONSOLE_POLICY);
      reply.header('Referrer-Policy', 'no-referrer');
      // Built files carry a hash of their content in their name; pages do not.
      if (path.includes(`${directory}/assets/`)) reply.header('Cache-Control', 'public, max-age=31536000, immutable');
    },
  });
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Parley</title>
<body style="font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 36rem; padding: 0 1rem">
<h1>Parley is running</h1>
<p>The console has not been built yet. Run <code>npm run prepare</code> and start again.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</body></html>
`;
