/**
 * `npm run bench:widget`: measures what the widget costs its page: bytes, time until its button can be
 * pressed, added load time, and the time from press to connected. Runs Chromium on a page of another origin;
 * each visit has an empty cache.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { quantile } from '#caller/statistics.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { launchBrowser } from '#test/journeys/talk-page.ts';
import { demoAgentId } from '#test/journeys/tenant.ts';
import { Site } from '#test/journeys/widget-page.ts';
import { type Figure, judge, toText } from './figures.ts';

const KIB = 1_024;
const VISITS = 15;
const CALLS = 5;
const LIMITS = {
  widgetKib: 60,
  clientKib: 20,
  buttonMs: 500,
  loadMs: 20,
  beyondScriptMs: 20,
  longTaskMs: 50,
  connectMs: 2_000,
};

/** Records when the button appears and how long the page's long tasks take. */
const WATCH = `
  window.longTasks = [0];
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask', buffered: true });
  const look = () => {
    if (document.querySelector('voice-agent')?.shadowRoot?.querySelector('.launcher')?.checkVisibility()) window.buttonAt = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;
const READ = `({
  loadMs: performance.getEntriesByType('navigation')[0].loadEventEnd,
  buttonMs: window.buttonAt ?? NaN,
  longTaskMs: Math.max(...window.longTasks),
})`;

interface Visit {
  readonly loadMs: number;
  readonly buttonMs: number;
  readonly longTaskMs: number;
}

async function run(): Promise<void> {
  const figures = [
    sizeFigure('widget.js, compressed', ['widget.js'], LIMITS.widgetKib),
    sizeFigure('media client, compressed', ['sdk.js', 'sdk-wire.js'], LIMITS.clientKib),
  ];
  const [product, browser] = await Promise.all([
    startProduct({ environment: { PUBLIC_RATE_PER_IP: '100000', LOG_LEVEL: 'warn' } }),
    launchBrowser(),
  ]);
  const site = await Site.serve(product);
  try {
    const agentId = await demoAgentId(product);
    await product.ask('PATCH', `/v1/agent/agents/${agentId}`, { allowed_origins: [site.origin] });
    figures.push(
      ...(await measureVisits(browser, site, product, agentId)),
      await measureCalls(browser, site, agentId),
    );
  } finally {
    await browser.close();
    await site.close();
    await product.close();
  }
  console.log(`\n${toText(figures)}`);
}

function sizeFigure(what: string, files: readonly string[], limit: number): Figure {
  const bytes = files.map((file) => statSync(join(import.meta.dirname, '../web/dist', `${file}.br`)).size);
  return judge({ what, load: 'once per page', unit: 'KiB', samples: 1 }, [
    { name: '', value: bytes.reduce((sum, size) => sum + size, 0) / KIB, limit },
  ]);
}

/**
 * Alternates visits with the widget, with an empty script, and with neither, so that all run under the same
 * machine conditions.
 */
async function measureVisits(
  browser: Browser,
  site: Site,
  product: Product,
  agentId: string,
): Promise<Figure[]> {
  site.modules.set('/empty.js', '0;');
  const widget =
    `<voice-agent agent-id="${agentId}"></voice-agent><script src="${product.url}/widget.js" ` +
    'async></script>';
  const seen: Record<'bare' | 'script' | 'widget', Visit[]> = { bare: [], script: [], widget: [] };
  for (let index = 0; index < VISITS; index++) {
    seen.bare.push(await visit(browser, site, ''));
    seen.script.push(await visit(browser, site, '<script src="/empty.js" async></script>'));
    seen.widget.push(await visit(browser, site, widget));
  }
  const p50 = (visits: readonly Visit[], read: (seen: Visit) => number) => quantile(visits.map(read), 0.5);
  const loadMs = (visits: readonly Visit[]) => p50(visits, (one) => one.loadMs);
  const about = (what: string) => ({ what, load: 'fresh visit', unit: 'ms', samples: VISITS });
  return [
    judge(about('page opened to the widget’s button'), [
      { name: 'p50', value: p50(seen.widget, ({ buttonMs }) => buttonMs), limit: LIMITS.buttonMs },
    ]),
    judge(about('added to the page’s load event'), [
      { name: 'p50', value: loadMs(seen.widget) - loadMs(seen.bare), limit: LIMITS.loadMs },
    ]),
    judge(about('of it, more than an empty script adds'), [
      { name: 'p50', value: loadMs(seen.widget) - loadMs(seen.script), limit: LIMITS.beyondScriptMs },
    ]),
    judge(about('longest task with the widget'), [
      { name: 'p50', value: p50(seen.widget, ({ longTaskMs }) => longTaskMs), limit: LIMITS.longTaskMs },
    ]),
  ];
}

async function visit(browser: Browser, site: Site, body: string): Promise<Visit> {
  const page = await site.open(browser, body, { initScript: WATCH });
  // A function: text would be evaluated in the page, which the site's policy forbids.
  if (body.includes('voice-agent')) await page.waitForFunction(() => 'buttonAt' in globalThis);
  const seen = await page.evaluate<Visit>(READ);
  await page.context().close();
  return seen;
}

async function measureCalls(browser: Browser, site: Site, agentId: string): Promise<Figure> {
  const times: number[] = [];
  for (let index = 0; index < CALLS; index++) {
    const guest = await site.visit(browser, `<voice-agent agent-id="${agentId}"></voice-agent>`);
    await guest.press('Talk to Parley demo');
    const fromMs = performance.now();
    await guest.press('Type instead');
    await guest.button('End call').waitFor();
    times.push(performance.now() - fromMs);
    await guest.press('End call');
    await guest.close();
  }
  return judge(
    {
      what: 'start pressed to connected',
      load: 'fresh visit, media client not loaded yet',
      unit: 'ms',
      samples: CALLS,
    },
    [{ name: 'p50', value: quantile(times, 0.5), limit: LIMITS.connectMs }],
  );
}

await run();
