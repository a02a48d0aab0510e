/** What keeps somebody from using a page, as axe finds it. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** Each serious or critical finding, with the elements it is about. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' ')}`);
}
