/** Dutch: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const nl = {
  phrases: {
    hold: 'Een ogenblik, alstublieft.',
    transferring: 'Ik verbind u nu door.',
    toolFiller: 'Ik kijk het even voor u na.',
    trouble: 'Sorry, er ging net iets mis. Kunt u dat herhalen?',
    apology: 'Het spijt me, er zijn technische problemen. Belt u later nog eens. Tot ziens.',
    goodbye: 'Tot ziens.',
    timeIsUp: 'Onze tijd is om. Dank u wel, tot ziens.',
    stillThere: 'Bent u er nog?',
    cannotHear:
      'Het spijt me, ik kan op deze lijn geen spraak verstaan. Gebruik de toetsen of typ uw bericht.',
    back: 'Sorry, ik was u even kwijt.',
  },
  acknowledgements:
    'ja|jawel|ok|oké|okay|oke|goed|prima|precies|klopt|juist|mhm|hm|hmm|aha|ah|oh|ik snap het|ik begrijp ' +
    'het|eh|uh',
  symbols: {
    at: 'apenstaartje',
    dot: 'punt',
    dash: 'streepje',
    underscore: 'laag streepje',
    slash: 'schuine streep',
    plus: 'plus',
  },
  abbreviations:
    'bijv.=bijvoorbeeld|d.w.z.=dat wil zeggen|enz.=enzovoort|ca.=circa|nr.=nummer|dhr.=de heer|' +
    'mevr.=mevrouw|dr.=dokter|tel.=telefoon|incl.=inclusief|a.u.b.=alstublieft|&=en',
} satisfies LanguageTexts;
