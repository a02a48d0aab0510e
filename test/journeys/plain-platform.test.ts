/**
 * Journey: the product on a machine that has no /proc, no priorities and no Unix sockets, as
 * base/platform.ts sees it.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { saidInCall } from './said-in-call.ts';

const FROM = '+15557650042';

describeNeeds(['pocketsphinx_continuous'])('on a plain platform', { timeout: 180_000 }, () => {
  let folder: string;
  let product: Product;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-plain-'));
    product = await startProduct({ environment: { PARLEY_TEST_PLATFORM: 'plain', TMPDIR: folder } });
  });
  afterAll(async () => {
    await product?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a start, a call, its hang-up and a stop work, and leave no file', async () => {
    expect(product.log).toContain('PARLEY_TEST_PLATFORM=plain');
    expect(existsSync(join(product.dataDir, 'database/database.sock'))).toBe(false);
    for (const { pid } of product.processes()) expect(getPriority(pid)).toBe(getPriority(product.pid));

    const said = await saidInCall(product, FROM);
    expect(said.join()).toContain('We are open every day from noon until ten in the evening.');

    const ended = `/v1/agent/sessions?status=completed&caller_number=${encodeURIComponent(FROM)}`;
    const sessions = async () => (await product.ask('GET', ended)).sessions;
    await product.until('the session is completed', async () => (await sessions()).length === 1);
    expect(await sessions()).toMatchObject([{ end_reason: 'user_hangup' }]);

    expect(await product.stop()).toBe(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('parley-'))).toEqual([]);
  });
});
