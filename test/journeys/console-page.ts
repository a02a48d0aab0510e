/**
 * The console in headless Chromium, used as somebody who configures agents uses it: by its links, labels and
 * buttons.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { seriousFindings } from './accessibility.ts';
import type { Product } from './product.ts';

/** Time a page or an answer gets, on a slow machine too. */
const WAIT_MS = 60_000;

/** How the console is opened. */
export interface ConsoleOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Signed in with this key before the first page; without one the sign-in page comes. */
  readonly key?: string;
}

/** One person at the console. */
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

  /** Goes to an address of the console and waits until its page has loaded what it shows. */
  async go(path: string): Promise<void> {
    await this.page.goto(`${this.#url}/console${path}`);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    await this.settled();
  }

  /** Goes to another address as its links do, without loading the console again. */
  async follow(path: string): Promise<void> {
    await this.page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`);
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    await this.settled();
  }

  /** Waits until nothing says that it loads. */
  async settled(): Promise<void> {
    const loading = this.page.getByLabel('Loading');
    while ((await loading.count()) > 0) await loading.first().waitFor({ state: 'detached' });
  }

  /** Presses a button once it can be pressed. */
  press(name: string | RegExp, within: Locator | Page = this.page): Promise<void> {
    return within
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click();
  }

  /** Fills in a field; the label of one that must be filled in ends with a star. */
  fill(label: string, text: string): Promise<void> {
    return this.page.getByLabel(label).first().fill(text);
  }

  /** Waits until a text can be seen. */
  see(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /**
   * What axe finds that keeps somebody from using the page, in light and in dark colours; only the contrast
   * depends on them.
   */
  async seriousFindings(): Promise<string[]> {
    const light = await seriousFindings(this.page);
    await this.page.emulateMedia({ colorScheme: 'dark' });
    const dark = await seriousFindings(this.page, ['color-contrast']);
    await this.page.emulateMedia({ colorScheme: 'light' });
    return [...light, ...dark.map((finding) => `dark ${finding}`)];
  }

  /** True when the page is wider than its window, or a table than its card. */
  overflows(): Promise<boolean> {
    return this.page.evaluate<boolean>(
      `[document.documentElement, ...document.querySelectorAll('section:has(> table)')].some((box) => box.scrollWidth > box.clientWidth)`,
    );
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
