/**
 * A customer's site with the widget: another origin than the product's, with a strict content security
 * policy, in headless Chromium.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Locator, Page } from 'playwright-core';
import type { Product } from './product.ts';
import type { TalkPageOptions } from './talk-page.ts';

/** Timeout of an agent utterance, generous for slow machines. */
const PATIENCE = { timeout: 60_000 };

/** Records the widget's events and the connections it opens. */
const WATCH = `
  window.events = [];
  for (const name of ['call', 'connect', 'disconnect', 'error'])
    document.addEventListener('voice-agent:' + name, (event) => window.events.push({ name, ...(name === 'call' ? {} : event.detail) }));
  document.addEventListener('securitypolicyviolation', (event) => window.events.push({ name: 'violation', blocked: event.blockedURI, by: event.effectiveDirective }));
  window.connections = [];
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...args) { super(...args); window.connections.push(this); }
  };`;

/** A widget event received by its page. */
export interface WidgetEvent {
  readonly name: string;
  readonly [detail: string]: unknown;
}

/** A site that serves a page to each visitor. */
export class Site {
  readonly #server: Server;
  readonly #product: Product;
  /** Contents of the pages' bodies; the path is the index. */
  readonly #bodies: string[] = [];
  /** Modules served by the site itself, by path. */
  readonly modules = new Map<string, string>();

  private constructor(server: Server, product: Product) {
    this.#server = server;
    this.#product = product;
  }

  /** `connect` lists further addresses for the page's `connect-src` policy. */
  static async serve(product: Product, connect: readonly string[] = []): Promise<Site> {
    const server = createServer((request, response) => {
      const { url } = product;
      const path = request.url ?? '';
      const module = site.modules.get(path);
      if (module !== undefined) {
        response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8' }).end(module);
        return;
      }
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        // The policy of a strict site: no inline script or style, no eval, and no server but the widget's.
        'content-security-policy':
          `default-src 'none'; script-src 'self' ${url}; connect-src ` +
          `${[url, ...connect].join(' ')}; ` +
          "base-uri 'none'; require-trusted-types-for 'script'",
      });
      const body = site.#bodies[Number(path.slice(1))] ?? '';
      response.end(
        '<!doctype html><html ' +
          `lang="en"><head><title>Luigi’s</title></head><body>` +
          `<main><h1>Luigi’s</h1><p>Pizza.</p></main>${body}</body></html>`,
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

  /** Opens a page with these elements and the widget's script. */
  async visit(browser: Browser, elements: string, options: TalkPageOptions = {}): Promise<WidgetPage> {
    return new WidgetPage(
      await this.open(
        browser,
        `${elements}<script src="${this.#product.url}/widget.js" async></script>`,
        options,
      ),
    );
  }

  /** Opens a page with any content. */
  async open(
    browser: Browser,
    body: string,
    { initScript = '', ...options }: TalkPageOptions & { readonly initScript?: string } = {},
  ): Promise<Page> {
    const path = this.#bodies.push(body) - 1;
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    await page.addInitScript(`${WATCH}${initScript}`);
    await page.goto(`${this.origin}/${path}`);
    return page;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** One visitor, who finds elements by their accessible names, as a screen reader does. */
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
  async line(text: string | RegExp): Promise<void> {
    const line = this.page.getByRole('log').getByRole('paragraph').filter({ hasText: text }).first();
    await line.waitFor(PATIENCE).catch(async (error: unknown) => {
      const shown = await this.page.locator('voice-agent').first().ariaSnapshot();
      throw new Error(`no line "${text}"; the widget shows:\n${shown}`, { cause: error });
    });
  }

  status(text: string | RegExp): Promise<void> {
    return this.page.getByRole('status').filter({ hasText: text }).first().waitFor(PATIENCE);
  }

  /** Waits for a problem shown to the visitor, and returns it. */
  async problem(): Promise<string> {
    return (await this.page.getByRole('alert').first().textContent(PATIENCE)) ?? '';
  }

  /** Sends a typed message. */
  async type(text: string): Promise<void> {
    await this.page.getByRole('textbox', { name: 'Type a message' }).fill(text);
    await this.press('Send');
  }

  /** Events the page has received so far. */
  events(): Promise<WidgetEvent[]> {
    return this.page.evaluate<WidgetEvent[]>('window.events');
  }

  /**
   * Disconnects the network: requests fail, and the running connection is reported broken, as Chromium does
   * after some seconds without an answer.
   */
  async loseNetwork(): Promise<void> {
    await this.page.context().setOffline(true);
    await this.page.evaluate(`(() => {
      const connection = window.connections.at(-1);
      Object.defineProperty(connection, 'connectionState', { get: () => 'failed' });
      connection.dispatchEvent(new Event('connectionstatechange'));
    })()`);
  }

  /** Reconnects the network. */
  findNetwork(): Promise<void> {
    return this.page.context().setOffline(false);
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
