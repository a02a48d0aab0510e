import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest';
import { freeTcpPort } from '../free-port.ts';
import { itNeeds } from '../needs.ts';
import { occupyTcp, occupyUdp } from './occupants.ts';
import { isRunning } from './process-tree.ts';
import { type Product, startProduct } from './product.ts';
import { Program } from './program.ts';

const PORTS = { PORT: '0', SIP_PORT: '0', RTP_PORT_MIN: '41300', RTP_PORT_MAX: '41399' };

/** Starts with data of their own wait for different things. */
const AT_ONCE = { concurrent: true };

/** Log lines of each part when it has connected to the others. */
const CONNECTED = [
  ['worker', ['connected to the SIP server', 'connected to the control plane']],
  ['signalling', ['connected to the SIP server']],
  ['control-plane', ['connected to the control plane']],
] as const;

/** Where programs of one test are started. */
interface Place {
  readonly dataDir: string;
  run(role: 'all' | 'control-plane' | 'worker', settings?: Readonly<Record<string, string>>): Program;
}

/** Waits until the API at this address says that it is ready. */
async function untilReady(url: string, program: Program): Promise<void> {
  await vi.waitFor(
    async () => {
      const response = await fetch(`${url}/readyz`);
      expect([response.status, await response.json()], program.lines.join('\n')).toEqual([
        200,
        expect.objectContaining({ status: 'ready' }),
      ]);
    },
    { timeout: 60_000 },
  );
}

/** A place that is cleared away when its test has finished. */
function newPlace({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Place {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-start-'));
  const programs: Program[] = [];
  onTestFinished(async () => {
    await Promise.all(programs.map((program) => program.close()));
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    dataDir,
    run(role, settings = {}) {
      const program = new Program(role, { DATA_DIR: dataDir, ...PORTS, ...settings });
      programs.push(program);
      return program;
    },
  };
}

describe('starting and stopping', { timeout: 180_000 }, () => {
  /** A signal, also when sent twice, ends it with exit status 0. */
  async function expectEnds(program: Program, name: 'SIGTERM' | 'SIGINT'): Promise<void> {
    program.signal(name);
    program.signal(name);
    expect(await program.ended()).toBe(0);
    expectCalm(program.output);
  }

  function expectCalm(output: string): void {
    expect(output).not.toMatch(/"level":(50|60)/);
    // Its own workers leave because they were asked to.
    expect(output).not.toMatch(/"level":40.*"worker link lost"/);
  }

  describe('a running product', () => {
    let product: Product;
    let healthPort: number;

    beforeAll(async () => {
      healthPort = await freeTcpPort();
      product = await startProduct({ environment: { HEALTH_PORT: String(healthPort) } });
    });
    afterAll(() => product?.close());

    const isReady = async () => (await fetch(`${product.url}/readyz`)).status === 200;

    it('answers all probes at the port of the API; workers and signalling open no port for them', async () => {
      for (const path of ['/healthz', '/readyz/requests', '/readyz', '/metrics'])
        expect([path, (await fetch(`${product.url}${path}`)).status]).toEqual([path, 200]);
      await expect(fetch(`http://127.0.0.1:${healthPort}/healthz`)).rejects.toThrow();
    });

    it('prints the console address, the key, the number and the engines in use', () => {
      const lines = product.log.split('\n');
      for (const start of [
        'Console ',
        'API docs ',
        'API key ',
        'Dial ',
        'baresip ',
        'Linphone ',
        'Engines ',
      ]) {
        expect(
          lines.filter((line) => line.startsWith(start)),
          start,
        ).not.toEqual([]);
      }
      expect(product.log).toContain('Engines      Language model: none.');
      const command = /^API key {6}(node -p .*) prints it$/m.exec(product.log)?.[1] ?? '';
      expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trim()).toBe(product.rootKey);
      expect(product.log).toContain(`sip:${product.number}@127.0.0.1:${product.sipPort}`);
      // Below the ephemeral range, so outgoing connections cannot take the ports while a killed part is
      // restarted.
      for (const port of [Number(new URL(product.url).port), product.sipPort])
        expect(port).toBeLessThan(32_768);
    });

    it('keeps its secrets out of output and command lines, in a file readable by its owner only', () => {
      const file = join(product.dataDir, 'credentials.json');
      const credentials = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
      for (const secret of Object.values(credentials)) expect(product.log).not.toContain(secret);
      for (const { commandLine } of product.processes())
        for (const secret of Object.values(credentials)) expect(commandLine).not.toContain(secret);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    });

    it('is not disturbed by a second start on the same data, which fails with one line', async (context) => {
      const second = newPlace(context).run('all', { DATA_DIR: product.dataDir });
      expect(await second.ended()).not.toBe(0);
      expect(second.lines).toEqual([expect.stringContaining('in use by another running Parley')]);
      expect(await isReady()).toBe(true);
    });

    describe('beside a product whose SIP servers are not there', () => {
      let dataDir: string;
      let other: Program;

      beforeAll(() => {
        dataDir = mkdtempSync(join(tmpdir(), 'parley-start-'));
        const place = { DATA_DIR: dataDir, ...PORTS };
        other = new Program('all', { ...place, DRACHTIO_SERVERS: '127.0.0.1:1,127.0.0.1:2' });
      });
      afterAll(async () => {
        await other?.close();
        rmSync(dataDir, { recursive: true, force: true });
      });

      it('sees it become ready: the worker of the other takes all but phone calls', async () => {
        const [, port] = await other.printed(/^ready \{"port":(\d+)/m);
        await untilReady(`http://127.0.0.1:${port}`, other);
        expect(await isReady()).toBe(true);
      });

      it('is not disturbed by another product, which ends with status 0 on SIGINT, even sent twice', async () => {
        await expectEnds(other, 'SIGINT');
        expect(await isReady()).toBe(true);
      });
    });

    describe('beside starts on the same data, one after another', () => {
      let dataDir: string;
      const starts: Promise<Product>[] = [];
      let killed: Product | null = null;
      let next: Product | null = null;

      beforeAll(() => {
        dataDir = mkdtempSync(join(tmpdir(), 'parley-start-'));
      });
      afterAll(async () => {
        for (const started of await Promise.allSettled(starts))
          if (started.status === 'fulfilled') await started.value.close();
        rmSync(dataDir, { recursive: true, force: true });
      });

      function start(): Promise<Product> {
        const starting = startProduct({ dataDir });
        starts.push(starting);
        return starting;
      }

      /** Returns the product of an earlier test; skips this test if that one failed to start it. */
      const started = (earlier: Product | null, { skip }: TestContext) =>
        earlier ?? skip('an earlier start failed');

      it('an interrupted start leaves nothing behind', async (context) => {
        const settings = { DATA_DIR: dataDir, DRACHTIO_HOST: '127.0.0.1', DRACHTIO_PORT: '1' };
        const program = newPlace(context).run('all', settings);
        await program.printed(/Server listening/);
        program.signal('SIGTERM');
        expect(await program.ended()).toBe(0);
        killed = await start();
      });

      it('leaves no process when its supervisor is killed, and the next start takes over at once', async (test) => {
        const product = started(killed, test);
        // The process of the web calls starts before the first of them.
        await product.until('the worker is warm', () =>
          product.processes().some(({ commandLine }) => commandLine.includes('media-thread-entry')),
        );
        expectCalm(product.log);
        const parts = product.processes().filter(({ pid }) => pid !== product.pid);
        expect(parts.length).toBeGreaterThanOrEqual(4);
        product.kill('supervisor');
        next = await start();
        expect(next.readyAfterMs).toBeLessThan(60_000);
        await next.until('all its parts have ended', () => !parts.some(({ pid }) => isRunning(pid)));
      });

      it('kills and replaces a hung part', { timeout: 300_000 }, async (context) => {
        const product = started(next, context);
        for (const [part, lines] of CONNECTED) {
          const [before] = product.parts(part);
          if (!before) throw new Error(`no ${part}`);
          const printed = product.log.length;
          process.kill(before.pid, 'SIGSTOP');
          await product.until(
            `another ${part}`,
            () => product.parts(part).some(({ pid }) => pid !== before.pid) && !isRunning(before.pid),
          );
          await product.until('it is connected', () =>
            lines.every((line) => product.log.slice(printed).includes(line)),
          );
          await product.until(
            'it is ready again',
            async () => (await fetch(`${product.url}/readyz`)).status === 200,
          );
        }
      });

      it('ends with status 0 on SIGTERM, sent once or twice', async (context) => {
        const product = started(next, context);
        const before = product.log.length;
        process.kill(product.pid, 'SIGTERM');
        expect(await product.stop()).toBe(0);
        expectCalm(product.log.slice(before));
      });

      it('is not disturbed by them', async () => {
        expect(await isReady()).toBe(true);
      });
    });

    it('has reported no error', () => expectCalm(product.log));

    it('refuses new calls with 503 after a stop signal, and exits at once after a second one', async () => {
      await expectWebSession(product.url, product.rootKey);
      process.kill(product.pid, 'SIGTERM');
      const toldMs = performance.now();
      await product.until(
        'new calls are refused',
        async () => (await createWebSession(product.url, product.rootKey)).status === 503,
      );
      await product.until('a signal is no longer the same one', () => performance.now() - toldMs > 2_200);
      expect(isRunning(product.pid)).toBe(true);
      process.kill(product.pid, 'SIGTERM');
      await product.until('everything has ended', () => !isRunning(product.pid), 2_000);
    });
  });

  it('malformed settings prevent the start, with one line each', AT_ONCE, async (context) => {
    const program = newPlace(context).run('all', {
      PORT: 'eighty',
      LOG_LEVEL: 'loud',
      TLS_CERT: 'cert.pem',
      ICE_SERVERS: '{',
    });
    expect(await program.ended()).not.toBe(0);
    expect(program.lines.map((line) => line.split(':')[0]).sort()).toEqual([
      'ICE_SERVERS',
      'LOG_LEVEL',
      'PORT',
    ]);
  });

  it.for([
    { what: 'HTTP', setting: 'PORT', named: 'HOST, PORT', occupy: occupyTcp },
    { what: 'SIP over TCP', setting: 'SIP_PORT', named: 'SIP_HOST, SIP_PORT', occupy: occupyTcp },
    { what: 'SIP over UDP', setting: 'SIP_PORT', named: 'SIP_HOST, SIP_PORT', occupy: occupyUdp },
  ])(
    'a used port of $what prevents the start of any part, and the line names the settings',
    AT_ONCE,
    async ({ setting, named, occupy }, context) => {
      const occupant = await occupy();
      const program = newPlace(context).run('all', { [setting]: String(occupant.port) });
      expect(await program.ended()).not.toBe(0);
      occupant.free();
      expect(program.output).toBe(
        `${named}: 127.0.0.1 port ${occupant.port} is in use by another program; set another port, or 0 ` +
          'for a free one\n',
      );
    },
  );

  it('damaged credentials prevent the start and are not shown', AT_ONCE, async (context) => {
    const { dataDir, run } = newPlace(context);
    writeFileSync(join(dataDir, 'credentials.json'), '{"root_api_key": "pk_half_of_a_se');
    const program = run('all');
    expect(await program.ended()).not.toBe(0);
    expect(program.lines).toEqual([expect.stringContaining('credentials.json is damaged')]);
    expect(program.output).not.toContain('pk_half');
  });

  it(
    'a separate control plane and worker connect to each other, and again after a restart',
    AT_ONCE,
    async (context) => {
      const { dataDir, run } = newPlace(context);
      const plane = run('control-plane');
      const port = (await plane.printed(/^ready \{"port":(\d+)/m))[1] ?? '';
      expect(plane.lines.join('\n')).toContain(`http://127.0.0.1:${port}/`);
      const url = `http://127.0.0.1:${port}`;
      const credentials = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')) as {
        worker_token: string;
        root_api_key: string;
      };
      expect((await fetch(`${url}/readyz`)).status).toBe(503);
      expect((await fetch(`${url}/readyz/requests`)).status).toBe(200);
      const rejected = run('worker', {
        CONTROL_PLANE_URL: url,
        WORKER_TOKEN: 'not-the-token-of-the-workers',
      });
      const worker = run('worker', {
        CONTROL_PLANE_URL: url,
        WORKER_TOKEN: credentials.worker_token,
        DRAIN_SECONDS: '1',
      });
      await worker.printed(/^Works for .*\d$/m);
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      await expectWebSession(url, credentials.root_api_key);
      await rejected.printed(/401/);

      plane.signal('SIGTERM');
      expect(await plane.ended()).toBe(0);
      await untilReady(url, run('control-plane', { PORT: port }));
      // The stopped control plane has not taken its workers out of service.
      await expectWebSession(url, credentials.root_api_key);
      const metrics = await (await fetch(`${url}/metrics`)).text();
      expect(metrics).toMatch(/^parley_worker_free_slots [1-9]\d*$/m);
      worker.signal('SIGTERM');
      expect(await worker.ended()).toBe(0);
    },
  );

  it('a worker without a control plane address reports that', AT_ONCE, async (context) => {
    const worker = newPlace(context).run('worker');
    expect(await worker.ended()).not.toBe(0);
    expect(worker.lines).toEqual([expect.stringContaining('CONTROL_PLANE_URL, WORKER_TOKEN')]);
  });

  itNeeds(['openssl'])(
    'serves TLS with a certificate for any host name, and its parts still connect to each other',
    AT_ONCE,
    async (context) => {
      const { dataDir, run } = newPlace(context);
      const [cert, key] = [join(dataDir, 'cert.pem'), join(dataDir, 'key.pem')];
      const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' ');
      const named = ['-subj', '/CN=voice.example.org', '-keyout', key, '-out', cert];
      execFileSync('openssl', [...request, ...named], { stdio: 'ignore' });
      const program = run('all', { TLS_CERT: cert, TLS_KEY: key });
      const port = Number((await program.printed(/^ready \{"port":(\d+)/m))[1]);
      expect(program.output).toContain(`https://127.0.0.1:${port}/`);
      await vi.waitFor(async () => expect(await secureStatus(port)).toBe(200), { timeout: 60_000 });
      program.signal('SIGTERM');
      expect(await program.ended()).toBe(0);
    },
  );
});

/** Creates a web session, which requires a worker that accepts it. */
async function expectWebSession(url: string, apiKey: string): Promise<void> {
  const response = await createWebSession(url, apiKey);
  expect(response.status, await response.text()).toBe(201);
}

async function createWebSession(url: string, apiKey: string): Promise<Response> {
  const demo = (await (await fetch(`${url}/demo.json`)).json()) as { agent_id: string };
  return fetch(`${url}/v1/agent/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: demo.agent_id }),
  });
}

function secureStatus(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
