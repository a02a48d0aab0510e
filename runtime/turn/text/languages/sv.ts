/** Swedish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const sv = {
  phrases: {
    hold: 'Ett ögonblick, tack.',
    transferring: 'Jag kopplar dig nu.',
    toolFiller: 'Jag ska kontrollera det.',
    trouble: 'Förlåt, något gick fel. Kan du säga det igen?',
    apology: 'Jag är ledsen, vi har tekniska problem. Ring gärna igen senare. Hej då.',
    goodbye: 'Hej då.',
    timeIsUp: 'Vår tid är slut. Tack, hej då.',
    stillThere: 'Är du kvar?',
    cannotHear:
      'Jag är ledsen, jag kan inte uppfatta tal på den här linjen. Använd knappsatsen eller skriv ditt ' +
      'meddelande.',
    back: 'Förlåt, jag tappade dig en sekund.',
  },
  acknowledgements:
    'ja|jo|japp|okej|ok|okay|bra|visst|precis|just det|jag förstår|mhm|mm|hm|hmm|aha|jaha|eh|öh',
  symbols: {
    at: 'snabel-a',
    dot: 'punkt',
    dash: 'bindestreck',
    underscore: 'understreck',
    slash: 'snedstreck',
    plus: 'plus',
  },
} satisfies LanguageTexts;
