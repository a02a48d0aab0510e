/**
 * Somebody's own site with the widget on it: another origin than the product's, under a strict content
 * security policy, used in headless Chromium.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Product } from './product.ts';
import type { TalkPageOptions } from './talk-page.ts';

/** Time the agent gets to say something, a slow machine included. */
const PATIENCE = { timeout: 60_000 };

/** Keeps what the widget tells its page, and the connections it opens. */
const WATCH = `
  window.told = [];
  for (const name of ['call', 'connect', 'disconnect', 'error'])
    document.addEventListener('voice-agent:' + name, (event) => window.told.push({ name, ...(name === 'call' ? {} : event.detail) }));
  document.addEventListener('securitypolicyviolation', (event) => window.told.push({ name: 'violation', blocked: event.blockedURI, by: event.effectiveDirective }));
  window.connections = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...args) { super(...args); window.connections.push(this); }
  };`;

/** One event of the widget, as its page saw it. */
export interface Told {
  readonly name: string;
  readonly [detail: string]: unknown;
}

/** A site that serves one page. */
export class Site {
  readonly #server: Server;
  readonly #product: Product;
  /** What stands in the page's body. */
  #body = '';
  /** Modules the site serves itself, by their path. */
  readonly modules = new Map<string, string>();

  private constructor(server: Server, product: Product) {
    this.#server = server;
    this.#product = product;
  }

  /** `connect` is what else the page's policy lets it connect to. */
  static async serve(product: Product, connect: readonly string[] = []): Promise<Site> {
    const server = createServer((request, response) => {
      const { url } = product;
      const module = site.modules.get(request.url ?? '');
      if (module !== undefined) {
        response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8' }).end(module);
        return;
      }
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        // No inline script or style, no eval, nothing but the widget's server; what a strict site would send.
        'content-security-policy': `default-src 'none'; script-src 'self' ${url}; connect-src ${[url, ...connect].join(' ')}; base-uri 'none'; require-trusted-types-for 'script'`,
      });
      response.end(
        `<!doctype html><html lang="en"><head><title>Luigi’s</title></head><body><main><h1>Luigi’s</h1><p>Pizza.</p></main>${site.#body}</body></html>`,
      );
    });
    const site = new Site(server, product);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Opens the page with these elements and the widget's script in it. */
  async visit(browser: Browser, elements: string, options: TalkPageOptions = {}): Promise<WidgetPage> {
    return new WidgetPage(
      await this.open(
        browser,
        `${elements}<script src="${this.#product.url}/widget.js" async></script>`,
        options,
      ),
    );
  }

  /** Opens a page of any content. */
  async open(
    browser: Browser,
    body: string,
    { initScript = '', ...options }: TalkPageOptions & { readonly initScript?: string } = {},
  ): Promise<Page> {
    this.#body = body;
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    await page.addInitScript(`${WATCH}${initScript}`);
    await page.goto(this.origin);
    return page;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** One visitor, who finds things by what they are called, as a screen reader does. */
export class WidgetPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  press(name: string | RegExp): Promise<void> {
    return this.button(name).click(PATIENCE);
  }

  /** Waits for a line of the transcript. */
  line(text: string | RegExp): Promise<void> {
    return this.page
      .getByRole('log')
      .getByRole('paragraph')
      .filter({ hasText: text })
      .first()
      .waitFor(PATIENCE);
  }

  status(text: string | RegExp): Promise<void> {
    return this.page.getByRole('status').filter({ hasText: text }).first().waitFor(PATIENCE);
  }

  /** Waits for a problem told to the visitor, and returns it. */
  async problem(): Promise<string> {
    return (await this.page.getByRole('alert').first().textContent(PATIENCE)) ?? '';
  }

  /** Sends a typed message. */
  async type(text: string): Promise<void> {
    await this.page.getByRole('textbox', { name: 'Type a message' }).fill(text);
    await this.press('Send');
  }

  /** What the page was told so far. */
  told(): Promise<Told[]> {
    return this.page.evaluate<Told[]>('window.told');
  }

  /**
   * Takes the network away: requests fail, and the running connection is told that it is broken, as Chromium
   * tells it after some seconds without an answer.
   */
  async loseNetwork(): Promise<void> {
    await this.page.context().setOffline(true);
    await this.page.evaluate(`(() => {
      const connection = window.connections.at(-1);
      Object.defineProperty(connection, 'connectionState', { get: () => 'failed' });
      connection.dispatchEvent(new Event('connectionstatechange'));
    })()`);
  }

  /** Gives it back. */
  findNetwork(): Promise<void> {
    return this.page.context().setOffline(false);
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
