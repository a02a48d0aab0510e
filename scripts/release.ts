/**
 * `npm run release -- 0.2.0`: makes a release from the committed source. Sets the version, freezes the turn
 * machine, adds the commits since the last release to CHANGELOG.md, commits and tags all of it, and writes to
 * `release/`:
 *
 * - `parley-0.2.0.tgz`: the npm package. `npx --ignore-scripts ./parley-0.2.0.tgz start` runs it; unpacked,
 *   `npm ci --omit=dev` installs what it needs and builds nothing
 * - `parley-api-0.2.0.tgz`, `parley_api-0.2.0.tar.gz`: the server libraries for npm and pip
 * - `parley-0.2.0-image.tar`: the container image, if Docker, Podman or Buildah is installed
 * - `parley-0.2.0.spdx.json`: all third-party packages with their licences (SPDX 2.3)
 * - `SHA256SUMS`: checksums of these files
 *
 * `npm run release -- --draft` writes the files for the present version and changes nothing in the
 * repository. `--no-image` leaves the image out. Nothing is uploaded. Exit code 1 if a step fails, 2 for
 * wrong usage.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { changelogWith, isLaterVersion } from './changelog.ts';
import { packPython } from './libraries/pack-python.ts';
import { versionedFiles } from './libraries/versions.ts';

const ROOT = join(import.meta.dirname, '..');
const OUT = join(ROOT, 'release');
/** What has the version in it, or is made for a release. */
const VERSIONED = ['package.json', 'package-lock.json', 'libraries', 'runtime/replay/machines'];
/** Programs that build images from a Dockerfile, and how each saves one to a file. */
const BUILDERS = [
  { program: 'docker', build: ['build'], save: (tag: string, file: string) => ['save', '-o', file, tag] },
  // Their default format has no health checks.
  {
    program: 'podman',
    build: ['build', '--format', 'docker'],
    save: (tag: string, file: string) => ['save', '-o', file, tag],
  },
  {
    program: 'buildah',
    build: ['build', '--format', 'docker'],
    save: (tag: string, file: string) => ['push', tag, `docker-archive:${file}:${tag}`],
  },
];

/** Packages that the sources of the pages import for their build only. */
const BUILDS_PAGES = new Set(['vite', '@vitejs/plugin-react']);

interface Manifest {
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

try {
  await main();
} catch (error) {
  // A program that failed has printed why.
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      draft: { type: 'boolean', default: false },
      'no-image': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [wanted] = positionals;
  if (values.draft === (wanted !== undefined)) refuse('usage: npm run release -- <version> | --draft');
  if (wanted !== undefined) setVersion(wanted);
  try {
    await writeFiles(currentVersion(), values['no-image']);
  } catch (error) {
    if (wanted !== undefined) git('checkout', '--quiet', 'HEAD', '--', ...VERSIONED);
    throw error;
  }
  if (wanted !== undefined) commit(wanted);
}

async function writeFiles(version: string, hasNoImage: boolean): Promise<void> {
  rmSync(OUT, { recursive: true, force: true });
  mkdirSync(OUT);
  console.log('packing …');
  const files = [pack(), packTypescript(), await packPython(OUT, version), listPackages(version)];
  const image = hasNoImage ? null : buildImage(version);
  if (image) files.push(image);
  writeFileSync(join(OUT, 'SHA256SUMS'), await checksums(files));
  for (const file of [...files, 'SHA256SUMS']) console.log(`release/${basename(file)}`);
}

/** Sets the version and freezes the turn machine; refuses an earlier version, and a tree with changes. */
function setVersion(wanted: string): void {
  const current = currentVersion();
  const isFirst = wanted === current && git('tag', '--list', `v${current}`) === '';
  if (!isFirst && !isLaterVersion(wanted, current)) refuse(`${wanted} is no version after ${current}`);
  if (git('status', '--porcelain') !== '') refuse('commit or remove the changes in the working tree first');
  execFileSync('npm', ['version', wanted, '--no-git-tag-version', '--allow-same-version'], {
    cwd: ROOT,
    stdio: 'ignore',
  });
  for (const [path, text] of versionedFiles(wanted)) writeFileSync(join(ROOT, path), text);
  // Later releases replay the calls of this one with it.
  execFileSync(process.execPath, [join(ROOT, 'scripts/freeze-machine.ts')], { stdio: 'inherit' });
}

/** Adds the release to the changelog, commits and tags it. */
function commit(version: string): void {
  const last = git('tag', '--list', 'v*', '--sort=-v:refname').split('\n').find(Boolean);
  const subjects = last === undefined ? [] : git('log', '--format=%s', `${last}..HEAD`).split('\n');
  const file = join(ROOT, 'CHANGELOG.md');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(file, changelogWith(text, { version, date, subjects: subjects.filter(Boolean) }));
  git('add', ...VERSIONED, 'CHANGELOG.md');
  git('commit', '--quiet', '-m', `Release ${version}`);
  git('tag', `v${version}`);
  console.log(`committed and tagged as v${version}; push both, then publish the files`);
}

/** Builds the pages and packs them with the product; returns the file. */
function pack(): string {
  // npm packs the exact versions under this name only.
  const lock = join(ROOT, 'npm-shrinkwrap.json');
  copyFileSync(join(ROOT, 'package-lock.json'), lock);
  try {
    return npmPack(ROOT);
  } finally {
    rmSync(lock);
  }
}

/** Builds and packs the TypeScript library; returns the file. */
function packTypescript(): string {
  const source = join(ROOT, 'libraries/typescript');
  // Not beside the source, where somebody may be using what was built.
  const folder = mkdtempSync(join(tmpdir(), 'parley-library-'));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', source, '--outDir', join(folder, 'dist')], { stdio: 'inherit' });
  for (const name of ['package.json', 'README.md']) copyFileSync(join(source, name), join(folder, name));
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  const file = npmPack(folder);
  rmSync(folder, { recursive: true });
  return file;
}

function npmPack(folder: string): string {
  const packed: unknown = JSON.parse(npm(folder, 'pack', '--json', '--pack-destination', OUT));
  const [first] = packed as readonly { readonly filename: string }[];
  if (!first) throw new Error('npm pack wrote no file');
  return join(OUT, first.filename);
}

/** Writes the list of third-party packages, those in the built pages included; returns the file. */
function listPackages(version: string): string {
  const file = join(OUT, `parley-${version}.spdx.json`);
  const folder = mkdtempSync(join(tmpdir(), 'parley-packages-'));
  const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const pages = Object.entries(own.devDependencies).filter(([name]) => isInPages(name));
  const dependencies = { ...own.dependencies, ...Object.fromEntries(pages) };
  const manifest = { name: 'parley', version, license: own.license, dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  copyFileSync(join(ROOT, 'package-lock.json'), join(folder, 'package-lock.json'));
  npm(folder, 'install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund');
  writeFileSync(file, npm(folder, 'sbom', '--package-lock-only', '--sbom-format=spdx'));
  rmSync(folder, { recursive: true });
  return file;
}

/** Whether the console, the browser client or the widget imports a package. */
function isInPages(name: string): boolean {
  const found = spawnSync('git', ['grep', '--quiet', '-F', `from '${name}`, '--', 'web/*.ts', 'web/*.tsx'], {
    cwd: ROOT,
  });
  return found.status === 0 && !BUILDS_PAGES.has(name);
}

/** Builds and saves the image; null, with a message, where no program can build one. */
function buildImage(version: string): string | null {
  const builder = BUILDERS.find(({ program, build }) => {
    const { status } = spawnSync(program, program === 'docker' ? ['info'] : [...build, '--help']);
    return status === 0;
  });
  if (!builder) {
    console.log('no image: neither Docker, Podman nor Buildah works here');
    return null;
  }
  console.log(`building the image with ${builder.program} …`);
  const tag = `parley:${version}`;
  const file = join(OUT, `parley-${version}-image.tar`);
  const run = (parameters: readonly string[]) =>
    execFileSync(builder.program, parameters, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  run([...builder.build, '-f', 'deploy/Dockerfile', '-t', tag, '.']);
  run(builder.save(tag, file));
  return file;
}

/** Lines in the format of `sha256sum`. */
async function checksums(files: readonly string[]): Promise<string> {
  const lines = await Promise.all(
    files.map(async (file) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(file), hash);
      return `${hash.digest('hex')}  ${basename(file)}\n`;
    }),
  );
  return lines.join('');
}

function currentVersion(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

function npm(folder: string, ...parameters: readonly string[]): string {
  return execFileSync('npm', parameters, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1_048_576,
  });
}

function git(...parameters: readonly string[]): string {
  return execFileSync('git', parameters, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
