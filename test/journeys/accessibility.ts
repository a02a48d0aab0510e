/** What keeps somebody from using a page, as axe finds it. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/**
 * Each serious or critical finding, with the elements it is about; `rules` are the only ones looked at, all
 * by default.
 */
export async function seriousFindings(page: Page, rules?: string[]): Promise<string[]> {
  // There are no frames to look into: without them axe needs no second page per look.
  const builder = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
  const { violations } = await (rules ? builder.withRules(rules) : builder).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' ')}`,
    );
}
