/**
 * The page at `/` in headless Chromium, operated as by a visitor: its buttons, its message line and its
 * visible text.
 */
import { join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import type { Product } from './product.ts';

const CHROMIUM = join(import.meta.dirname, 'chromium.sh');
/** Gives the browser priority, so that its microphone does not stutter. */
const FAVOURED_CHROMIUM = join(import.meta.dirname, 'favoured-chromium.sh');
/** Timeout of an agent utterance, generous for slow machines. */
const ANSWER_MS = 90_000;
/** Keeps the page's connections, so that the test can read their received media. */
const KEEP_CONNECTIONS = `
  window.connections = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...args) { super(...args); window.connections.push(this); }
  };`;
/** Energy of the received audio (W3C webrtc-stats, totalAudioEnergy). */
const RECEIVED_ENERGY = `(async () => {
  const reports = await Promise.all(window.connections.map((connection) => connection.getStats()));
  const inbound = reports.flatMap((report) => [...report.values()]).filter((item) => item.type === 'inbound-rtp' && item.kind === 'audio');
  return inbound.reduce((sum, item) => sum + item.totalAudioEnergy, 0);
})()`;

/**
 * Starts Chromium. With a WAV file its microphone plays the file once; `blocked` has a microphone that pages
 * are denied; null has no microphone.
 */
export function launchBrowser(microphone: string | 'blocked' | null = null): Promise<Browser> {
  return chromium.launch({
    executablePath: microphone === null ? CHROMIUM : FAVOURED_CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--autoplay-policy=no-user-gesture-required',
      ...(microphone === null ? [] : ['--use-fake-device-for-media-stream']),
      // Without this, permission requests of a page remain unanswered.
      ...(microphone === null || microphone === 'blocked'
        ? []
        : ['--use-fake-ui-for-media-stream', `--use-file-for-fake-audio-capture=${microphone}%noloop`]),
    ],
  });
}

/** Options for opening a page. */
export interface TalkPageOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  /** For pages with a self-signed certificate. */
  readonly ignoreHTTPSErrors?: boolean;
}

/** One visitor. */
export class TalkPage {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static async open(
    browser: Browser,
    product: Pick<Product, 'url'>,
    options: TalkPageOptions = {},
  ): Promise<TalkPage> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    await page.addInitScript(KEEP_CONNECTIONS);
    await page.goto(`${product.url}/`);
    return new TalkPage(page);
  }

  /** Presses a button once it is enabled. */
  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  /** Waits for a line of the transcript. On timeout, throws with the current lines. */
  async line(who: 'You' | 'Agent', text: string | RegExp): Promise<void> {
    try {
      await this.linesOf(who).filter({ hasText: text }).first().waitFor({ timeout: ANSWER_MS });
    } catch (error) {
      throw new Error(
        `no line of ${who} with ${text}; there are: ${(await this.lines.allTextContents()).join(' | ')}`,
        { cause: error },
      );
    }
  }

  /** Text of one side's newest line. */
  async said(who: 'You' | 'Agent'): Promise<string> {
    const line = await this.linesOf(who).last().textContent();
    return line?.slice(who.length) ?? '';
  }

  /** Sends a typed message. */
  async type(text: string): Promise<void> {
    await this.page.getByRole('textbox', { name: 'Message' }).fill(text);
    await this.press('Send');
  }

  /** Waits until the line under the agent's name shows this text. */
  status(text: string | RegExp, timeoutMs = ANSWER_MS): Promise<void> {
    return this.page.getByRole('status').filter({ hasText: text }).waitFor({ timeout: timeoutMs });
  }

  /** Waits for a problem shown to the visitor, and returns it. */
  async problem(): Promise<string> {
    return (await this.page.getByRole('alert').textContent({ timeout: ANSWER_MS })) ?? '';
  }

  /** The session shown at the foot of the page. */
  async sessionId(): Promise<string> {
    return (await this.page.locator('footer p', { hasText: 'Session' }).locator('code').textContent()) ?? '';
  }

  /** Energy of the agent's audio: 0 is silence, a spoken sentence is more than 0.001. */
  receivedEnergy(): Promise<number> {
    return this.page.evaluate<number>(RECEIVED_ENERGY);
  }

  close(): Promise<void> {
    return this.page.context().close();
  }

  linesOf(who: 'You' | 'Agent'): Locator {
    return this.lines.filter({ hasText: new RegExp(`^${who}`) });
  }

  get lines(): Locator {
    return this.page.getByRole('region', { name: 'Transcript' }).getByRole('listitem');
  }
}
