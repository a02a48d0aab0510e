/**
 * Journey: a person changes an agent's prompt and rehearses the draft on its calls, with a judge whose cost
 * they see first.
 */
import type { Browser } from 'playwright-core';
import { describe, expect } from 'vitest';
import { itNeeds } from '#test/needs.ts';
import { askByPhone, listeningAgent } from './ask-by-phone.ts';
import { ConsolePage } from './console-page.ts';
import type { Product } from './product.ts';

const PORTS = { first: 30_320, last: 30_339 };
const PATIENCE = { timeout: 240_000 };
const PHONE = { width: 360, height: 740 };

/** Describes it on a shared product, whose recogniser hears a question and which can buy the number. */
export function describeRehearsePage(stage: {
  readonly product: Product;
  readonly browser: Browser;
  readonly secondNumber: string;
}): void {
  describe('its draft', () => {
    itNeeds(['chromium'])(
      'is rehearsed on its calls, and judged once its cost has been shown',
      PATIENCE,
      async () => {
        const { product, browser, secondNumber: number } = stage;
        const agentId = await listeningAgent(product);
        await askByPhone(product, { agentId, number, ports: PORTS });
        await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
          prompt: { system_prompt: 'You answer, briefly.' },
        });
        const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
        await person.go(`/agents/${agentId}`);
        await person.press('Rehearse…');
        const dialog = person.page.getByRole('dialog', { name: 'Rehearsal of Front desk' });
        await dialog.getByText('without a judge nothing is charged').waitFor();
        await dialog.getByLabel('Judge single turns, too').click();
        await dialog.getByText(/^About \$[\d.]+.*: 1 of 1 turns in 1 calls are asked of openai\//).waitFor();
        const rehearsals = `/v1/agent/agents/${agentId}/rehearsals`;
        expect((await product.ask('GET', rehearsals)).rehearsals).toEqual([]);
        expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
        await person.press('Rehearse for at most $1.00', dialog);
        await dialog.getByText(/^1 of 1 turns judged by openai\//).waitFor();
        await dialog.getByText('Not judged but by turns, although the draft changes it:').waitFor();
        await dialog.getByText(/asked twice, differs from itself in/).waitFor();
        const read = dialog.locator('tr').filter({ hasText: 'It names the hours.' });
        await read.getByRole('link', { name: 'Better' }).waitFor();
        await dialog.getByText('each turn is judged alone').waitFor();
        expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
        await person.close();
      },
    );
  });
}
