/**
 * Journey: Parley behind the reverse proxies of docs/reverse-proxy.md, each configured with the exact block
 * in that document: pages, live events, speech over WebSocket, a web call, and trusted client addresses.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { decode, encode } from '@msgpack/msgpack';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { freeTcpPort } from '#test/free-port.ts';
import { describeWhereThere, itNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/reverse-proxy.md'), 'utf8');
const PATIENCE = { timeout: 240_000 };
/** Public sessions allowed per address and minute. */
const PUBLIC_RATE = 5;

/** The documentation block that begins with this text. */
function blockOf(fence: string, start: string): string {
  const block = [...PAGE.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].find(
    ([, kind, text]) => kind === fence && text?.startsWith(start),
  );
  if (!block?.[2]) throw new Error(`docs/reverse-proxy.md has no block that begins with ${start}`);
  return block[2];
}

/** Replaces the placeholders that a reader would replace. Throws if the page no longer contains them. */
function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return Object.entries(values).reduce((filled, [written, value]) => {
    if (!filled.includes(written)) throw new Error(`the block does not say ${written}`);
    return filled.replaceAll(written, value);
  }, text);
}

interface Place {
  readonly folder: string;
  /** Port of the proxy. */
  readonly port: number;
  /** Address of the product. */
  readonly product: string;
}

const PROXIES = [
  {
    program: 'nginx',
    start({ folder, port, product }: Place): ChildProcess {
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:P-256',
          '-nodes',
          '-days',
          '1',
          ...subject,
          '-keyout',
          key,
          '-out',
          cert,
        ],
        { stdio: 'ignore' },
      );
      const block = fillIn(blockOf('nginx', 'map'), {
        'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
        'parley.example.com': 'localhost',
        '/etc/ssl/parley/cert.pem': cert,
        '/etc/ssl/parley/key.pem': key,
        'http://127.0.0.1:8080': product,
      });
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${join(folder, name)};`)
        .join(' ');
      const file = join(folder, 'nginx.conf');
      writeFileSync(
        file,
        `daemon off; pid ${join(folder, 'pid')}; events {}\nhttp { access_log off; ${places}\n${block}\n}\n`,
      );
      return spawn(
        'nginx',
        ['-c', file, '-p', folder, '-e', 'stderr', ...(process.getuid?.() === 0 ? ['-g', 'user root;'] : [])],
        {
          stdio: 'inherit',
        },
      );
    },
  },
  {
    program: 'caddy',
    start({ folder, port, product }: Place): ChildProcess {
      const block = fillIn(blockOf('', 'parley.example.com {'), {
        'parley.example.com {': `https://localhost:${port} {\n  bind 127.0.0.1\n  tls internal`,
        '127.0.0.1:8080': new URL(product).host,
      });
      const file = join(folder, 'Caddyfile');
      writeFileSync(
        file,
        '{\n  admin off\n  auto_https disable_redirects\n  skip_install_trust\n  storage file_system ' +
          `${folder}\n}\n${block}`,
      );
      return spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
        stdio: ['ignore', 'ignore', 'ignore'],
        env: { PATH: process.env['PATH'], HOME: folder },
      });
    },
  },
] as const;

describe('the documented proxies', () => {
  it('are nginx and Caddy', () => {
    expect(blockOf('nginx', 'map')).toContain('proxy_pass http://127.0.0.1:8080;');
    expect(blockOf('', 'parley.example.com {')).toContain('reverse_proxy 127.0.0.1:8080');
  });
});

for (const { program, start } of PROXIES) {
  describeWhereThere([program, 'openssl'])(`behind ${program}`, () => {
    const trusting = new Agent({ connect: { rejectUnauthorized: false } });
    let folder: string;
    let product: Product;
    let proxy: ChildProcess;
    let url: string;

    const ask = (
      path: string,
      init: { method?: string; headers?: Record<string, string>; body?: string } = {},
    ) => fetch(`${url}${path}`, { dispatcher: trusting, ...init });
    const key = () => ({ authorization: `Bearer ${product.rootKey}` });

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), `parley-${program}-`));
      const port = await freeTcpPort();
      url = `https://localhost:${port}`;
      product = await startProduct({
        environment: {
          PUBLIC_URL: url,
          TRUST_PROXY: 'true',
          PUBLIC_RATE_PER_IP: String(PUBLIC_RATE),
          LOG_LEVEL: 'warn',
          DRAIN_SECONDS: '0',
        },
      });
      proxy = start({ folder, port, product: product.url });
      await product.until('the proxy answers', async () => (await ask('/readyz')).status === 200);
    }, 120_000);
    afterAll(async () => {
      if (proxy?.exitCode === null && proxy.kill('SIGTERM')) await once(proxy, 'exit');
      await trusting.close();
      await product?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it('passes a file on in its built encoding', PATIENCE, async () => {
      // Unlike fetch, this does not decode the body.
      const { headers, body } = await trusting.request({
        origin: url,
        path: '/widget.js',
        method: 'GET',
        headers: { 'accept-encoding': 'br' },
      });
      expect(headers).toMatchObject({
        'content-encoding': 'br',
        vary: expect.stringMatching(/accept-encoding/i),
        etag: expect.any(String),
      });
      expect(brotliDecompressSync(await body.arrayBuffer()).toString()).toContain('voice-agent');
    });

    it('passes live events on without delay', PATIENCE, async () => {
      const stream = await ask('/v1/agent/events', { headers: key() });
      const events = stream.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
      let seen = '';
      const { session_id } = await product.ask('POST', '/v1/agent/sessions', {
        agent_id: await demoAgentId(product),
      });
      while (!seen.includes(session_id)) {
        const { value, done } = await events.next();
        if (done) throw new Error(`the stream ended before the session was reported: ${seen}`);
        seen += value;
      }
      await events.return?.();
    });

    it('passes speech on over a WebSocket', PATIENCE, async () => {
      const socket = new WebSocket(`${url.replace('https', 'wss')}/v1/tts/live`, {
        headers: key(),
        rejectUnauthorized: false,
      });
      await once(socket, 'open');
      for (const message of [
        { event: 'start', request: { text: '', format: 'mp3' } },
        { event: 'text', text: 'We are open.' },
        { event: 'stop' },
      ])
        socket.send(encode(message));
      const heard: string[] = [];
      socket.on('message', (data: Buffer) =>
        heard.push((decode(data) as { event: string; reason?: string }).reason ?? 'audio'),
      );
      await once(socket, 'close');
      expect(heard).toEqual(expect.arrayContaining(['audio', 'stop']));
    });

    itNeeds(['chromium'])('lets a visitor talk with the agent on the page', PATIENCE, async () => {
      const browser = await launchBrowser();
      const visitor = await TalkPage.open(browser, { url }, { ignoreHTTPSErrors: true });
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await browser.close();
    });

    it('does not make the product trust an address that a client claims', PATIENCE, async () => {
      const agent_id = await demoAgentId(product);
      const statuses: number[] = [];
      // More requests than two minutes allow, because a new minute may begin meanwhile.
      for (let last = 1; last <= 2 * PUBLIC_RATE + 2; last++) {
        const headers = {
          origin: url,
          'content-type': 'application/json',
          'x-forwarded-for': `203.0.113.${last}`,
        };
        const answer = await ask('/v1/agent/sessions', {
          method: 'POST',
          headers,
          body: JSON.stringify({ agent_id }),
        });
        statuses.push(answer.status);
        await answer.text();
      }
      expect(statuses).toContain(429);
    });
  });
}

/** A currently free TCP port, for a program that must be given its port. */
