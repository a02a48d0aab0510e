/** `npm run docs:screenshots`: takes the pictures of the README from the real pages of a product it starts: a typed conversation, and the API reference. Needs Chromium, and port 5060 free. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { launchBrowser, TalkPage } from '#test/journeys/talk-page.ts';

const IMAGES = join(import.meta.dirname, 'images');
const VIEWPORT = { width: 1200, height: 760 };
/** Transitions of the page are over. */
const STILL_MS = 500;

async function run(): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  const [product, browser] = await Promise.all([startProduct({ environment: { SIP_PORT: '5060' } }), launchBrowser()]);
  try {
    await takeTalk(browser, product);
    await takeApi(browser, product);
  } finally {
    await browser.close();
    await product.close();
  }
}

/** In the middle of a conversation, while the agent speaks. */
async function takeTalk(browser: Browser, product: Product): Promise<void> {
  const visitor = await TalkPage.open(browser, product, { viewport: VIEWPORT });
  await visitor.press('Type instead');
  await visitor.line('Agent', 'or ask what I can do.');
  await visitor.type('What are your opening hours?');
  await visitor.line('Agent', 'Would you like to book a table?');
  await visitor.status('Listening');
  await visitor.type('Yes, book a table for four people');
  await visitor.status('Speaking');
  await visitor.page.waitForTimeout(STILL_MS);
  await visitor.page.screenshot({ path: join(IMAGES, 'talk.png') });
  await visitor.close();
}

async function takeApi(browser: Browser, product: Product): Promise<void> {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(`${product.url}/docs`);
  await page.getByText('/v1/agent/sessions', { exact: false }).first().waitFor();
  await page.waitForTimeout(STILL_MS);
  await page.screenshot({ path: join(IMAGES, 'api.png') });
}

await run();
