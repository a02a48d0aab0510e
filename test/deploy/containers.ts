/**
 * Builds and runs containers without a daemon and without an image registry: Buildah in a chroot, and base
 * images made here from the system's own packages under the names that the Dockerfile uses. They stand in for
 * the published ones, which come from the same Debian packages.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RunningProgram } from '../journeys/program.ts';
import { describePossible, describeWhereThere, has } from '../needs.ts';
import { type Enclosure, NAMESPACES, type Output, openEnclosure } from './enclosure.ts';

const ROOT = join(import.meta.dirname, '../..');
/** How this machine reaches its package registries; the build does so in the same way. */
const ACCESS: readonly (readonly [host: string, inside: string])[] = [
  [join(homedir(), '.npmrc'), '/root/.npmrc'],
  ['/etc/npmrc', '/usr/local/etc/npmrc'],
  [join(homedir(), '.npm'), '/root/.npm'],
  ['/etc/ssl/certs', '/etc/ssl/certs'],
  ['/etc/apt/sources.list.d', '/etc/apt/sources.list.d'],
];

const PROGRAMS = ['buildah', 'mmdebstrap', 'unshare', 'nsenter'];

type Buildah = (...parameters: readonly string[]) => Promise<Output>;

/** An image store of its own. */
export interface Containers {
  /** Makes the base images that `deploy/Dockerfile` names. */
  makeBases(): Promise<void>;
  /** Builds `deploy/Dockerfile` from a folder; returns the lines that the build printed. */
  build(folder: string, tag: string): Promise<string[]>;
  /** Starts a container of an image with its command. */
  start(tag: string, environment: Readonly<Record<string, string>>): Promise<RunningProgram>;
  /** Output of a program in a new container, as the image's user. */
  output(tag: string, command: readonly string[]): Promise<string>;
  /** Size of an image with its base, bytes. */
  size(tag: string): Promise<number>;
  /** The image's configuration, such as `User` or `Healthcheck`. */
  config(tag: string): Promise<Record<string, unknown>>;
  /** Ends whatever still runs, and leaves nothing behind. */
  close(): Promise<void>;
}

const ENVIRONMENT = { BUILDAH_ISOLATION: 'chroot', STORAGE_DRIVER: 'overlay' };
/** Mounts a file system as a build does, and asks Buildah for its store. */
const PROBE = 'mount -t tmpfs tmpfs "$1" && buildah --root "$1/images" --runroot "$1/run" info';

/** Why this machine builds no containers; null if it does. Some sandboxes permit no mounts. */
function obstacle(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'parley-probe-'));
  const env = { ...process.env, ...ENVIRONMENT };
  const { status } = spawnSync('unshare', [...NAMESPACES, 'sh', '-c', PROBE, 'sh', folder], { env });
  rmSync(folder, { recursive: true });
  return status === 0 ? null : 'containers cannot be built here: no namespaces or no overlay file systems';
}

/** `describe`, skipped where `openContainers` does not work. */
export const describeContainers = has(PROGRAMS) ? describePossible(obstacle()) : describeWhereThere(PROGRAMS);

/** Opens an empty store. */
export async function openContainers(): Promise<Containers> {
  const enclosure = await openEnclosure(ENVIRONMENT);
  const { folder } = enclosure;
  const store = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run')];
  const buildah: Buildah = (...parameters) => enclosure.run('buildah', ...store, ...parameters);
  const from = async (tag: string) => (await buildah('from', '--pull=never', tag)).stdout;
  const userOf = async (tag: string) => String((await config(tag))['User']);
  const config = async (tag: string) => {
    const { stdout } = await buildah('inspect', '--type', 'image', tag);
    return (JSON.parse(stdout) as { Docker: { config: Record<string, unknown> } }).Docker.config;
  };
  return {
    makeBases: () => makeBases(enclosure, buildah),
    build: async (source, tag) => {
      const mounts = ACCESS.filter(([host]) => existsSync(host)).flatMap(([host, inside]) => [
        '--volume',
        `${host}:${inside}`,
      ]);
      const file = join(source, 'deploy/Dockerfile');
      const built = await buildah(
        ...['build', '--format', 'docker', '--layers', '--pull=never', ...mounts],
        ...['--file', file, '--tag', tag, source],
      );
      return `${built.stdout}\n${built.stderr}`.split('\n');
    },
    start: async (tag, environment) => {
      const { Entrypoint: entrypoint, Cmd: command } = await config(tag);
      const values = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
      const parameters = ['run', '--user', await userOf(tag), ...values, await from(tag), '--'];
      const program = [entrypoint, command].flat().map(String);
      return enclosure.start('buildah', ...store, ...parameters, ...program);
    },
    output: async (tag, command) =>
      (await buildah('run', '--user', await userOf(tag), await from(tag), '--', ...command)).stdout,
    size: async (tag) => {
      const { stdout } = await buildah('inspect', '--type', 'image', tag);
      const { Manifest: manifest } = JSON.parse(stdout) as { Manifest: string };
      const { layers } = JSON.parse(manifest) as { layers: readonly { readonly size: number }[] };
      return layers.reduce((sum, { size }) => sum + size, 0);
    },
    config,
    close: () => enclosure.close(),
  };
}

/** Makes Debian's slim image, and Node's on top of it with the Node and npm of this machine. */
async function makeBases(enclosure: Enclosure, buildah: Buildah): Promise<void> {
  const bootstrapped = (await enclosure.run(join(ROOT, '.ci/debian'))).stdout;
  // Compressed by default, for a registry.
  const commit = (tag: string) => buildah('commit', '--disable-compression', debian, tag);
  const debian = (await buildah('from', 'scratch')).stdout;
  await buildah('add', debian, join(bootstrapped, 'debian.tar'));
  await commit('docker.io/library/debian:bookworm-slim');
  const dockerfile = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  const name = /^FROM (node:\S+)/m.exec(dockerfile)?.[1];
  if (name === undefined) throw new Error('the Dockerfile builds on no image of Node');
  // Not from `npm root --global`, which depends on the Node that runs it.
  const command = (await enclosure.run('sh', '-c', 'readlink -f "$(command -v npm)"')).stdout;
  const npm = join(dirname(command), '..');
  await buildah('copy', debian, process.execPath, '/usr/local/bin/node');
  await buildah('copy', debian, npm, '/usr/local/lib/node_modules/npm');
  await buildah(
    'run',
    debian,
    '--',
    'ln',
    '-s',
    '../lib/node_modules/npm/bin/npm-cli.js',
    '/usr/local/bin/npm',
  );
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (authorities !== undefined) {
    await buildah('copy', debian, authorities, '/usr/local/share/authorities.pem');
    await buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/usr/local/share/authorities.pem', debian);
  }
  await commit(`docker.io/library/${name}`);
  await buildah('rm', debian);
}
