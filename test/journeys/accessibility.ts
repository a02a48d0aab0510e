/** Accessibility problems of a page, found by axe. */
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/**
 * All serious and critical findings with the elements concerned. `rules` restricts the check; by default all
 * rules apply.
 */
export async function seriousFindings(page: Page, rules?: string[]): Promise<string[]> {
  // The pages have no frames; in legacy mode axe needs no second page per check.
  const builder = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
  const { violations } = await (rules ? builder.withRules(rules) : builder).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' ')}`,
    );
}
