/** The blocks that README and docs mark with `sh run`, page by page, on one product. */
import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { listPages } from '#scripts/links.ts';
import { type OpenaiServer, startOpenaiServer } from '../fakes/openai-server.ts';
import { type SippSwitchboard, startSippSwitchboard } from '../fakes/sipp-switchboard.ts';
import { type Product, startProduct } from '../journeys/product.ts';
import { describeNeeds, itNeeds } from '../needs.ts';
import { blocksOf, type PageBlock } from './page-blocks.ts';
import { answerPage } from './page-model.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE_MS = 80_000;
const MOST_OUTPUT = 3_000;
const NEEDED = ['bash', 'curl', 'sipp'];
const PAGES = listPages(ROOT)
  .map((page) => ({ page, blocks: runnableBlocks(page) }))
  .filter(({ blocks }) => blocks.length > 0);
/** Defines `KEY`, `api` and `field` for every page: the first paragraph of the README's shell block. */
const COMMON = runnableBlocks('README.md')[0]?.code.split('\n\n')[0];

let model: OpenaiServer;
let trunk: SippSwitchboard;
let product: Product;

describeNeeds(NEEDED)('the shell blocks', { concurrent: true }, () => {
  beforeAll(async () => {
    [model, trunk] = await Promise.all([
      startOpenaiServer({ chat: answerPage }),
      startSippSwitchboard({ talkMs: 500 }),
    ]);
    product = await startProduct({
      environment: { OPENAI_BASE_URL: model.url, LLM_DEFAULT: 'openai/test-model' },
    });
  });
  afterAll(async () => {
    await product?.close();
    await trunk?.close();
    await model?.close();
  });

  for (const { page, blocks } of PAGES)
    itNeeds(programsOf(blocks))(`of ${page} run as they are written`, async () => {
      const steps = blocks.map(({ line, code }) => `step='${page}:${line}'\n${code}`);
      expect(await run([COMMON, ...steps].join('\n'))).toEqual({ failedAt: null, output: '' });
    });
});

/** The programs that a test of these blocks needs. */
function programsOf(blocks: readonly PageBlock[]): string[] {
  const isUsed = (program: string) => blocks.some(({ code }) => new RegExp(`\\b${program} `).test(code));
  return [...NEEDED, ...['openssl', 'python3'].filter(isUsed)];
}

function runnableBlocks(page: string): PageBlock[] {
  return blocksOf(readFileSync(join(ROOT, page), 'utf8')).filter(({ isRunnable }) => isRunnable);
}

/**
 * Runs a page's blocks in one shell, which stops at the first command or request that fails. The address of
 * the product and the carrier's host are replaced by those of the test.
 */
async function run(blocks: string): Promise<{ readonly failedAt: string | null; readonly output: string }> {
  const folder = productFolder();
  const here = blocks
    .replace(/\b(127\.0\.0\.1|localhost):8080\b/g, new URL(product.url).host)
    .replaceAll('sip.example.com', trunk.address);
  const script = `set -euo pipefail
    step=''
    leave() {
      status=$?
      kill $(jobs -p) 2> /dev/null || true
      [ $status = 0 ] || printf '\\nfailed: %s\\n' "$step"
      exit $status
    }
    trap leave EXIT
    ${here}`;
  const env = {
    ...process.env,
    PATH: `${folder}/bin:${process.env['PATH']}`,
    CURL_HOME: folder,
    PARLEY_URL: product.url,
    PARLEY_API_KEY: product.rootKey,
  };
  const ended = await new Promise<{ readonly isFailed: boolean; readonly output: string }>((done) => {
    execFile('bash', ['-c', script], { cwd: folder, env, timeout: PAGE_MS }, (error, stdout, stderr) =>
      done({ isFailed: error !== null, output: `${stdout}${stderr}` }),
    );
  });
  rmSync(folder, { recursive: true, force: true });
  if (!ended.isFailed) return { failedAt: null, output: '' };
  const failedAt = /^failed: (.*)$/m.exec(ended.output)?.[1] ?? 'the shell';
  return { failedAt, output: ended.output.slice(-MOST_OUTPUT) };
}

/**
 * The product's folder as a user has it, where blocks can write files. Every refused request fails curl. `npx
 * parley` starts without npm, which takes longer than the command; npm-warnings.test.ts starts it with npm.
 */
function productFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-page-'));
  for (const name of readdirSync(ROOT))
    if (name !== '.data') symlinkSync(join(ROOT, name), join(folder, name));
  symlinkSync(product.dataDir, join(folder, '.data'));
  writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nshow-error\nmax-time = 30\n');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/npx'), '#!/bin/sh\nshift\nexec node parley.mjs "$@"\n', { mode: 0o755 });
  return folder;
}
