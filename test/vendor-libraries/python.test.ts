/** The vendors' own Python libraries against the product; `compat-sdks.ts` has those in JavaScript. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, it } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { type OpenaiServer, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { describeWhereThere } from '#test/needs.ts';

/** Python with the libraries on its path (.ci/vendor-python). */
const PYTHON = 'vendor-python';
const PROGRAM = join(import.meta.dirname, 'vendor_libraries.py');
const HEARD = 'I would like to book a table.';
const LIMIT_MS = 180_000;
const run = promisify(execFile);

let folder: string;
let vendor: OpenaiServer;
let product: Product;

describeWhereThere([PYTHON])('Python libraries of other vendors, with their defaults', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-said-'));
    writeFileSync(wav(), toWav(speak(HEARD, { rateHz: 16_000, afterMs: 200 }).samples, 16_000));
    vendor = await startOpenaiServer({ transcripts: [HEARD] });
    product = await startProduct({
      environment: { ASR_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url, LOG_LEVEL: 'error' },
    });
  }, LIMIT_MS);
  afterAll(async () => {
    await product?.close();
    await vendor?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['the general vendor’s', 'GeneralVendor'],
    ['the voice vendor’s', 'VoiceVendor'],
    ['the native vendor’s', 'NativeVendor'],
  ])(
    '%s works as with its vendor (vendor_libraries.py)',
    async (_, tests) => {
      await run(PYTHON, ['-B', PROGRAM, tests], {
        env: {
          PATH: process.env['PATH'],
          PARLEY_URL: product.url,
          PARLEY_API_KEY: product.rootKey,
          WAV: wav(),
          HEARD,
        },
      });
    },
    LIMIT_MS,
  );
});

function wav(): string {
  return join(folder, 'said.wav');
}
