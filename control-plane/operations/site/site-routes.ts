/**
 * Serves the pages: the talk page at `/`, the console, the browser client and the widget, all built by `npm
 * run prepare`.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { Context } from '../../platform/context.ts';
import { type ApiServer, answerPreflight } from '../../platform/http/server.ts';
import { consolePolicy } from './console-policy.ts';

const OPEN = { config: { access: 'none' as const }, schema: { hide: true } };

/** Scripts for other sites; their names never change. */
const SCRIPT = /^(?:widget|sdk(?:-[a-z-]+)?)\.js$/;

/**
 * Names in `/assets` contain a hash of the content. Everything else is revalidated by its ETag, because the
 * parts of the browser client must come from one build.
 */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };
/** The widget is loaded with every page of a site, and uses only public names of the client. */
const WIDGET_MAX_AGE = '5m';

/**
 * Registers the console, `/sdk.js` with its parts and `/widget.js` from the folder of built web files, which
 * also contains each of them compressed (web/precompressed.ts).
 */
export async function registerSiteRoutes(
  app: ApiServer,
  context: Pick<Context, 'publicAddress' | 'settings'>,
  distDirectory: string,
): Promise<void> {
  const consoleDirectory = join(distDirectory, 'console');
  const hasConsole = existsSync(join(consoleDirectory, 'index.html'));
  app.addHook('onRoute', (route) => {
    if (route.url === '/*') route.config = { ...route.config, access: 'none' };
  });
  await app.register(fastifyStatic, {
    ...(hasConsole ? { root: consoleDirectory, wildcard: true } : { serve: false }),
    preCompressed: true,
    // Range requests get the whole file, which RFC 9110 §14.2 permits: these files are small.
    acceptRanges: false,
    setHeaders: (reply, path) => {
      if (!path.startsWith(consoleDirectory)) return;
      const { LIVEKIT_PUBLIC_URL, LIVEKIT_URL } = context.settings;
      const policy = consolePolicy(context.publicAddress.url, LIVEKIT_PUBLIC_URL ?? LIVEKIT_URL);
      reply.headers({ 'Content-Security-Policy': policy, 'Referrer-Policy': 'no-referrer' });
      if (path.startsWith(join(consoleDirectory, 'assets'))) reply.headers(FOR_EVER);
    },
  });
  // Deep links into the console are resolved by the page itself.
  if (hasConsole)
    for (const url of ['/console', '/console/*'])
      app.get(url, OPEN, (_request, reply) => reply.sendFile('index.html', consoleDirectory));
  else app.get('/', OPEN, (_request, reply) => reply.type('text/html; charset=utf-8').send(NOT_BUILT));
  serveScripts(app, distDirectory);
}

function serveScripts(app: ApiServer, directory: string): void {
  const built = existsSync(directory) ? readdirSync(directory).filter((file) => SCRIPT.test(file)) : [];
  for (const file of new Set(['sdk.js', 'widget.js', ...built])) {
    answerPreflight(app, `/${file}`, 'GET');
    app.get(
      `/${file}`,
      { config: { access: 'none', anyOrigin: true }, schema: { hide: true } },
      (_request, reply) => {
        reply.header('Cross-Origin-Resource-Policy', 'cross-origin');
        if (built.includes(file))
          return reply.sendFile(file, directory, { maxAge: file === 'widget.js' ? WIDGET_MAX_AGE : 0 });
        return reply
          .code(404)
          .type('text/javascript; charset=utf-8')
          .send('// Not built: run "npm run prepare" and start again.\n');
      },
    );
  }
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Parley</title>
<body style="font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 36rem; padding: 0 1rem">
<h1>Parley is running</h1>
<p>The console has not been built yet. Run <code>npm run prepare</code> and start again.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</body></html>
`;
