/** The editor of alerts in the console, operated as by a person. */
import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import { ConsolePage } from './console-page.ts';
import type { Product } from './product.ts';

/** Sets an alert about dead air and one whose limit is learned, wrongly at first, and publishes them. */
export async function setAlerts(
  browser: Browser,
  product: Product,
  viewport: { readonly width: number; readonly height: number },
): Promise<void> {
  const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', { name: 'Watched' });
  const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport });
  await person.go(`/agents/${id}/scorecard`);
  const rules = person.page.getByRole('region', { name: 'Alerts about rates' });
  await person.press('Add alert', rules);
  const first = rules.getByRole('group', { name: 'Alert about Dead air' });
  await first.getByLabel('Alert above, %').fill('150');
  await first.getByText('Must be more than 0 and less than 100').waitFor();
  await first.getByLabel('Alert above, %').fill('5');
  await person.press('Add alert', rules);
  const second = rules.getByRole('group', { name: 'Alert about Talked over' });
  await second.getByLabel('Rate').selectOption('Dead air');
  await rules.getByText('This rate is listed twice').waitFor();
  await rules.getByRole('group').nth(1).getByLabel('Rate').selectOption('Unheard');
  await rules.getByLabel('Learn it: the limit above for Unheard').click();
  expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
  await person.press('Save draft');
  await person.see('Draft saved');
  const { scorecard } = await product.ask('GET', `/v1/agent/agents/${id}/config`);
  expect(scorecard).toEqual({
    alerts: [
      { rate: 'dead_air', above: 0.05 },
      { rate: 'unheard', above: 'learned' },
    ],
  });
  await product.ask('POST', `/v1/agent/agents/${id}/publish`, {});
  await person.go(`/agents/${id}/scorecard`);
  await person.see('Dead air: up to 5.0 %; within it.');
  await person.see('Unheard: its calls are looked at with the next one that is counted.');
  await person.close();
}
