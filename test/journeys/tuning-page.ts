/**
 * Journey: a person has an agent's calls judged under other settings and puts one of them into the draft, and
 * names speech servers of their own.
 */
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { itNeeds } from '#test/needs.ts';
import { askByPhone, listeningAgent } from './ask-by-phone.ts';
import { ConsolePage } from './console-page.ts';
import type { Product } from './product.ts';

/** Ports of the caller. */
const PORTS = { first: 30_300, last: 30_319 };
const PATIENCE = { timeout: 240_000 };
const PHONE = { width: 360, height: 740 };

/** Describes them on a shared product, whose recogniser hears the question and which can buy the number. */
export function describeTuningPage(stage: {
  readonly product: Product;
  readonly browser: Browser;
  readonly number: string;
}): void {
  describe('its pages', () => {
    let product: Product;
    let agentId: string;

    beforeAll(async () => {
      ({ product } = stage);
      agentId = await listeningAgent(product);
    });

    const open = () => ConsolePage.open(stage.browser, product, { key: product.rootKey, viewport: PHONE });
    const region = ({ page }: ConsolePage, name: string) => page.getByRole('region', { name, exact: true });
    /** The page fits a phone and has no serious finding of axe. */
    const expectSound = async (person: ConsolePage) =>
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
    const draft = () => product.ask('GET', `/v1/agent/agents/${agentId}/config`);

    itNeeds(['chromium'])(
      'judge its past calls under other settings, say what that rests on, and put one into the draft',
      PATIENCE,
      async () => {
        const person = await open();
        await person.go(`/agents/${agentId}/conversation`);
        const tuning = region(person, 'Tuning on past calls');
        await person.press('Judge them', tuning);
        await tuning.getByText('No call can be judged').waitFor();
        await askByPhone(product, { agentId, number: stage.number, ports: PORTS });
        await tuning.getByLabel('Latest calls').selectOption('20');
        await person.press('Judge them', tuning);
        await tuning.getByText(/^Computed over 1 call and \d+ pauses?, /).waitFor();
        await tuning.getByText('For a recommendation it takes 20 pauses.').waitFor();
        await tuning.getByText('It cannot know').waitFor();
        await expectSound(person);
        const candidate = tuning.locator('tr').filter({ hasText: 'Eagerness: Eager' }).first();
        await candidate.getByRole('button', { name: /^Apply to draft/ }).click();
        const dialog = person.page.getByRole('dialog', { name: 'Put these settings into the draft?' });
        await dialog.getByText('Callers notice nothing until you publish it.').waitFor();
        await expectSound(person);
        await person.press('Apply to draft', dialog);
        await person.see('The draft has these settings');
        expect((await draft()).conversation).toMatchObject({ eagerness: 'eager', response_wait_ms: 300 });
        // The table is still there, and shows what the draft has.
        await candidate.getByText('In the draft').waitFor();
        await person.close();
      },
    );

    itNeeds(['chromium'])('let it learn its waits within a bound, and end that', PATIENCE, async () => {
      const person = await open();
      await person.go(`/agents/${agentId}/conversation`);
      const regret = region(person, 'Regret and learning');
      await regret.getByLabel('Callers cut off in 100 turns, at most').fill('4');
      await person.press('Let it learn', regret);
      const dialog = person.page.getByRole('dialog', { name: 'Let the agent learn its waits?' });
      await person.press('Let it learn', dialog);
      await regret.getByText('at most 4 callers cut off in 100 turns').waitFor();
      await regret.getByRole('cell', { name: 'began' }).waitFor();
      await expectSound(person);
      await person.press('End learning', regret);
      await person.press('End learning', person.page.getByRole('dialog', { name: 'End learning?' }));
      await regret.getByLabel('Callers cut off in 100 turns, at most').waitFor();
      expect(await regret.getByRole('button', { name: 'End learning' }).count()).toBe(0);
      await person.close();
    });

    itNeeds(['chromium'])(
      'take a recogniser and a voice of its owner, whose keys are never shown again',
      PATIENCE,
      async () => {
        const person = await open();
        await person.go(`/agents/${agentId}/voice`);
        const speech = region(person, 'Your own speech servers');
        await speech.getByLabel('Hear with your own recogniser').click();
        const recogniser = speech.getByRole('group', { name: 'Recogniser' });
        await recogniser.getByLabel('Address').fill('wss://127.0.0.1/stt');
        await person.press('Save draft');
        await person.see(/custom_speech\.asr\.api_key: .*is required/);
        await recogniser.getByLabel('Key', { exact: true }).fill('the-owners-key');
        await speech.getByLabel('Speak with your own voice').click();
        const voice = speech.getByRole('group', { name: 'Voice' });
        await voice.getByLabel('Address').fill('https://127.0.0.1/tts');
        await voice.getByLabel('Key', { exact: true }).fill('the-owners-key');
        await voice.getByLabel('Name of the voice').fill('ann');
        await expectSound(person);
        await person.press('Save draft');
        await recogniser.getByText('A key is stored.').waitFor();
        expect(await recogniser.getByLabel('Key', { exact: true }).inputValue()).toBe('');
        expect((await draft()).custom_speech).toMatchObject({
          asr: { url: 'wss://127.0.0.1/stt', protocol: 'jambonz', has_secret: true },
          tts: { url: 'https://127.0.0.1/tts', voice: 'ann', has_secret: true },
        });
        await speech.getByLabel('Hear with your own recogniser').click();
        await speech.getByLabel('Speak with your own voice').click();
        await person.press('Save draft');
        await expect.poll(async () => (await draft()).custom_speech).toBeUndefined();
        await person.close();
      },
    );
  });
}
