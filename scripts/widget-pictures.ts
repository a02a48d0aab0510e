/** Pictures of the widget on another site, in a real conversation; part of `npm run docs:screenshots`. */
import type { Browser, Page } from 'playwright-core';
import type { Product } from '#test/journeys/product.ts';
import { demoAgentId } from '#test/journeys/tenant.ts';
import { Site } from '#test/journeys/widget-page.ts';

const VIEWPORT = { width: 900, height: 680 };

/** Opens each scene and takes its picture. */
export async function takeWidget(
  browser: Browser,
  product: Product,
  take: (page: Page, name: string) => Promise<void>,
): Promise<void> {
  const site = await Site.serve(product);
  const agentId = await demoAgentId(product);
  const { allowed_origins: origins } = await product.ask('GET', `/v1/agent/agents/${agentId}`);
  await product.ask('PATCH', `/v1/agent/agents/${agentId}`, { allowed_origins: [...origins, site.origin] });
  const element = (attributes: string) =>
    `<voice-agent agent-id="${agentId}" agent-name="Luigi’s" ${attributes}></voice-agent>`;
  for (const colorScheme of ['light', 'dark'] as const) {
    const guest = await site.visit(browser, element('greeting="Ask when we are open, or book a table."'), {
      viewport: VIEWPORT,
      colorScheme,
    });
    await guest.press('Talk to Luigi’s');
    await guest.press('Type instead');
    await guest.line('or ask what I can do.');
    await guest.type('What are your opening hours?');
    await guest.line('Would you like to book a table?');
    await take(guest.page, colorScheme === 'light' ? 'widget' : 'widget-dark');
    await guest.press('End call');
    await guest.close();
  }
  const invited = await site.visit(
    browser,
    element('proactive-message="Shall we keep a table for you?" proactive-delay="0"'),
    {
      viewport: VIEWPORT,
    },
  );
  await invited.button('Shall we keep a table for you?').waitFor();
  await take(invited.page, 'widget-invitation');
  await invited.close();
  await site.close();
}
