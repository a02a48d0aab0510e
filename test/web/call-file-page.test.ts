/** The page of an exported call, opened as a file in Chromium, without any server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readCallFile, splitCallFile } from '#protocol/call-file.ts';
import { effectsDigest } from '#runtime/replay/effects-digest.ts';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { ExportedCalls, HOSTILE } from '#test/control-plane/calls/recordings/exported-call.ts';
import { seriousFindings } from '#test/journeys/accessibility.ts';
import { launchBrowser } from '#test/journeys/talk-page.ts';
import { describeNeeds } from '../needs.ts';

/** How many simulated calls are run again. */
const CALLS = 5;

describeNeeds(['chromium'])('the page of an exported call', () => {
  let calls: ExportedCalls;
  let browser: Browser;
  let folder: string;
  let id: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'call-file-'));
    [calls, browser] = await Promise.all([ExportedCalls.open(), launchBrowser()]);
    id = await calls.make();
  });
  afterAll(async () => {
    await browser.close();
    await calls.api.close();
    rmSync(folder, { recursive: true });
  });

  /** Opens a file; `seen` has the requests and errors of the page. */
  async function open(text: string, colorScheme: 'light' | 'dark' = 'light') {
    const file = join(folder, 'call.html');
    writeFileSync(file, text);
    const context = await browser.newContext({ colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    const seen: string[] = [];
    page.on('request', (request) => {
      if (!/^(?:file|blob):/.test(request.url())) seen.push(request.url());
    });
    page.on('pageerror', (error) => seen.push(error.message));
    page.on('console', (message) => seen.push(message.text()));
    await page.goto(pathToFileURL(file).href);
    await page.locator('html[data-ready]').waitFor();
    return { page, seen };
  }

  const region = (page: Page, name: string | RegExp) => page.getByRole('region', { name });

  it('runs the turn machine to the same effects as Node', async () => {
    for (let seed = 1; seed <= CALLS; seed++) {
      const text = await calls.fileOf(await calls.make(seed));
      const split = splitCallFile(text);
      const { parts } = await readCallFile(split ?? { parts: '', seal: '', shell: null });
      const log = parts.flatMap(({ label, content }) =>
        label.kind === 'inputs' && content ? [content] : [],
      );
      const { page } = await open(text);
      const inPage = await page.locator('html').getAttribute('data-effects');
      expect([seed, inPage]).toEqual([seed, await effectsDigest(readFlightLog(log), CURRENT_MACHINE)]);
      await page.context().close();
    }
  });

  it('says that nothing was changed, and asks no server for anything', async () => {
    const { page, seen } = await open(await calls.fileOf(id));
    await page.getByText('Unchanged since it was signed on').waitFor();
    expect(seen).toEqual([]);
  });

  it('says what was signed while the call ran, and what at the export only', async () => {
    const { page } = await open(await calls.fileOf(id));
    await page.getByText('Signed once while the call ran.').waitFor();
    await page.getByText(/^sound of the caller: 2 signed in the call at /).waitFor();
    await page.getByText('sound of the agent: 1 only at the export').waitFor();
  });

  it('opens a call from before calls were signed while they ran', async () => {
    const { page } = await open(await calls.fileOf(await calls.makeEarlier()));
    await page.getByText('Unchanged since it was signed on').waitFor();
    await page.getByText('Nothing was signed while the call ran').waitFor();
    expect(await page.locator('html').getAttribute('data-effects')).not.toBeNull();
  });

  it('does not run the machine without a piece of its inputs', async () => {
    const gapped = await calls.make();
    const { blobs } = calls.api.context;
    const [first = ''] = (await blobs.list(`sessions/${gapped}/`)).filter((key) =>
      key.includes('/flight-log/'),
    );
    await blobs.put(first, Buffer.alloc(64));
    const { page } = await open(await calls.fileOf(gapped));
    await page.getByText('There is no whole flight log').first().waitFor();
    expect(await page.locator('html').getAttribute('data-effects')).toBeNull();
  });

  it('decodes each piece of the sound by itself, whole', async () => {
    const text = await calls.fileOf(id);
    const { parts } = await readCallFile(splitCallFile(text) ?? { parts: '', seal: '', shell: null });
    const pieces = parts.flatMap(({ label, content }) =>
      label.kind === 'sound' && label.side === 'user' && content ? [[...content]] : [],
    );
    const { page } = await open(text);
    const decode = `async (bytes) => {
      const context = new OfflineAudioContext(1, 1, 16_000);
      return (await context.decodeAudioData(new Uint8Array(bytes).buffer)).duration;
    }`;
    const seconds = await page.evaluate(`Promise.all(${JSON.stringify(pieces)}.map(${decode}))`);
    expect(seconds).toEqual([1, 1]);
  });

  it('shows hostile words as words', async () => {
    const { page } = await open(await calls.fileOf(id));
    const said = await page.getByRole('button', { name: 'onerror' }).textContent();
    expect([said?.includes(HOSTILE), await page.title()]).toEqual([true, 'A recorded call']);
  });

  it('says what was changed, and does not show it', async () => {
    const text = await calls.fileOf(id);
    const [, , line = ''] = splitCallFile(text)?.parts.split('\n') ?? [];
    const [label, salt] = line.split('.');
    const forged = Buffer.from(JSON.stringify({ type: 'message', content: 'Forged' })).toString('base64');
    const { page } = await open(text.replace(line, `${label}.${salt}.${forged}`));
    await page.getByText('Not verified').waitFor();
    await page.getByText('Part 3 (line 1 of the transcript) was changed').waitFor();
    expect(await page.getByText('Forged').count()).toBe(0);
  });

  it('shows the state of the machine at the position, by keyboard too', async () => {
    const { page } = await open(await calls.fileOf(id));
    const slider = page.getByRole('slider', { name: 'Position in the call' });
    const state = region(page, 'State of the turn machine');
    await slider.focus();
    await page.keyboard.press('End');
    await expect.poll(() => state.textContent()).toMatch(/Agent(?:has hung up|ends the call)/);
    await page.keyboard.press('Home');
    await expect.poll(() => state.textContent()).not.toMatch(/Agent(?:has hung up|ends the call)/);
  });

  it('plays the sound, and the position follows', async () => {
    const { page } = await open(await calls.fileOf(id));
    await page.getByRole('button', { name: 'When do you open?' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.locator('[aria-current]').filter({ hasText: 'onerror' }).waitFor();
    await page.getByRole('button', { name: 'Play' }).waitFor();
  });

  it('runs the call again under other settings, to the first difference', async () => {
    const { page } = await open(await calls.fileOf(id));
    const again = region(page, 'With other settings');
    await again.getByRole('slider', { name: 'Wait after the caller’s words' }).focus();
    await page.keyboard.press('End');
    await again.getByText(/^(?:With these settings: |No noticeable difference)/).waitFor();
    await again.getByRole('button', { name: 'The call’s own settings' }).click();
    expect(await again.getByText(/With these settings: /).count()).toBe(0);
  });

  it('shows what is redacted, and verifies the rest', async () => {
    const { page } = await open(await calls.fileOf(id, ['transcript', 'caller_audio', 'numbers']));
    await page.getByText('Unchanged since it was signed on').waitFor();
    expect(await page.getByText('A redacted line').count()).toBe(3);
    await page.getByText('The flight log is redacted: the machine cannot be run.').first().waitFor();
  });

  it('is accessible: axe reports no serious finding, light or dark', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      const { page } = await open(await calls.fileOf(id), scheme);
      expect(await seriousFindings(page)).toEqual([]);
    }
  });
});
