/**
 * The console in headless Chromium, operated by its links, labels and buttons as by a person who configures
 * agents.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { seriousFindings } from './accessibility.ts';
import type { Product } from './product.ts';

/** Timeout of a page or an answer, generous for slow machines. */
const WAIT_MS = 60_000;

/** Options for opening the console. */
export interface ConsoleOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Key to sign in with before the first page; without it the sign-in page appears. */
  readonly key?: string;
}

/** One user of the console. */
export class ConsolePage {
  readonly page: Page;
  readonly #url: string;

  private constructor(page: Page, url: string) {
    this.page = page;
    this.#url = url;
  }

  static async open(
    browser: Browser,
    product: Product,
    { key, ...options }: ConsoleOptions = {},
  ): Promise<ConsolePage> {
    const context = await browser.newContext({
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      locale: 'en-GB',
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    if (key !== undefined)
      await page.addInitScript((value) => localStorage.setItem('parley.key', value), key);
    return new ConsolePage(page, product.url);
  }

  /** Opens a console address and waits until its page has loaded its data. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.#url}/console${path}`);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    await this.settled();
  }

  /** Navigates like the console's links, without reloading the console. */
  async follow(path: string): Promise<void> {
    await this.page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    await this.settled();
  }

  /** Waits until all loading indicators are gone. */
  async settled(): Promise<void> {
    const loading = this.page.getByLabel('Loading');
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' });
  }

  /** Presses a button once it is enabled. */
  press(name: string | RegExp, within: Locator | Page = this.page): Promise<void> {
    return within
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click();
  }

  /** Fills in a field; labels of required fields end with an asterisk. */
  fill(label: string, text: string): Promise<void> {
    return this.page.getByLabel(label).first().fill(text);
  }

  /** Waits until a text is visible. */
  see(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** Accessibility findings of axe in light and dark colours; only the contrast differs between them. */
  async seriousFindings(): Promise<string[]> {
    const light = await seriousFindings(this.page);
    await this.page.emulateMedia({ colorScheme: 'dark' });
    const dark = await seriousFindings(this.page, ['color-contrast']);
    await this.page.emulateMedia({ colorScheme: 'light' });
    return [...light, ...dark.map((finding) => `dark ${finding}`)];
  }

  /** True if the page is wider than its window, or a table wider than its card. */
  overflows(): Promise<boolean> {
    return this.page.evaluate<boolean>(
      "[document.documentElement, ...document.querySelectorAll('section:has(> table)')].some((box) => " +
        'box.scrollWidth > box.clientWidth)',
    );
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
