import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeTcpPort } from '../free-port.ts';
import { type Containers, describeContainers, openContainers } from './containers.ts';

const ROOT = join(import.meta.dirname, '../..');
const TAG = 'localhost/parley:test';
/** Half of what the first Dockerfile built on the same base images, 1.39 GB. */
const MOST_BYTES = 695e6;
const BUILD_MS = 1_200_000;
/** Only ends what hangs: beside seven times the load that two cores carry, it took half a minute. */
const START_MS = 120_000;

/**
 * The image gets the pages that `npm ci` has built here, because building them again takes long. With
 * `IMAGE_PAGES=build` it builds its own, as a user's does.
 */
const HAS_PAGES = process.env['IMAGE_PAGES'] !== 'build';
/** The configuration of the pages' builds. */
const PAGE_BUILD = globSync('web/*/vite.config.ts', { cwd: ROOT });

describeContainers('the container image', () => {
  let containers: Containers;
  let source: string;
  let first: readonly string[];

  beforeAll(async () => {
    source = copySource();
    containers = await openContainers();
    await containers.makeBases();
    first = await containers.build(source, TAG);
  }, BUILD_MS);
  afterAll(async () => {
    await containers?.close();
    rmSync(source, { recursive: true, force: true });
  });

  it('is at most half as large as it was', async () => {
    const bytes = await containers.size(TAG);
    console.log(`image: ${Math.round(bytes / 1e6)} MB`);
    expect(bytes).toBeLessThan(MOST_BYTES);
  });

  it('keeps its layers of programs and packages when the source changes', { timeout: BUILD_MS }, async () => {
    writeFileSync(join(source, 'README.md'), 'Another text.\n');
    const again = await containers.build(source, TAG);
    const done = again.join('\n');
    for (const step of [/added \d+ packages/, /Setting up pocketsphinx/])
      expect(first.join('\n')).toMatch(step);
    expect(done).toContain('Using cache');
    expect(done).not.toMatch(/added \d+ packages|Setting up pocketsphinx/);
  });

  it('has one Node, nothing that builds pages, and no binary for another system or processor', async () => {
    const look = (command: string) => containers.output(TAG, ['sh', '-c', command]);
    expect(await look('find / -xdev -type f -name node -perm -u+x 2>/dev/null; true')).toBe(
      '/usr/local/bin/node',
    );
    expect(await look('ls /app/node_modules | grep -xE "fastify|vite|react|@mantine|typescript"')).toBe(
      'fastify',
    );
    expect(await look("find /app -type f | grep -E '[.](dylib|dll|exe)$|/arm64/.*[.]so' || true")).toBe('');
  });

  it('runs as a user that is not root, below an init process', async () => {
    const { User: user, Entrypoint: entrypoint, Healthcheck: check } = await containers.config(TAG);
    expect(user).toBe('1000:1000');
    expect(entrypoint).toEqual(['tini', '--', 'node']);
    expect(check).toMatchObject({ Test: ['CMD', 'node', 'deploy/health-check.mjs'] });
    expect(await containers.output(TAG, ['id', '-u'])).toBe('1000');
  });

  it('serves from a cold start, and its health check notices', { timeout: BUILD_MS }, async () => {
    const port = String(await freeTcpPort());
    const environment = { PORT: port, SIP_PORT: '0', RTP_PORT_MIN: '46000', RTP_PORT_MAX: '46099' };
    const startedMs = performance.now();
    const container = await containers.start(TAG, environment);
    try {
      const health = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status);
      await expect.poll(() => health().catch(() => 0), { interval: 50, timeout: START_MS }).toBe(200);
      console.log(`cold start: ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
      const check = ['node', 'deploy/health-check.mjs', 'all'];
      await containers.output(TAG, ['env', `PORT=${port}`, ...check]);
      await expect(containers.output(TAG, ['env', 'PORT=1', ...check])).rejects.toThrow();
    } finally {
      // Buildah passes no signals on.
      container.signalTree('SIGKILL');
      await container.close();
    }
  });
});

/** Copies the source into a new folder, and returns its path. */
function copySource(): string {
  const source = mkdtempSync(join(tmpdir(), 'parley-image-'));
  const left = ['.git', '.data', 'node_modules', 'release'];
  // Without its sources there is nothing to build in `web`, and nothing to install for it.
  if (HAS_PAGES) left.push('.dockerignore', ...PAGE_BUILD);
  const skipped = new Set(left.map((name) => join(ROOT, name)));
  cpSync(ROOT, source, { recursive: true, filter: (file) => !skipped.has(file) });
  if (!HAS_PAGES) return source;
  const manifest = join(source, 'package.json');
  const all = JSON.parse(readFileSync(manifest, 'utf8')) as object;
  writeFileSync(manifest, JSON.stringify({ ...all, devDependencies: {} }));
  return source;
}
