/** French: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const fr = {
  phrases: {
    hold: 'Un instant, je vous prie.',
    transferring: 'Je vous mets en relation.',
    toolFiller: 'Je vérifie cela pour vous.',
    trouble: "Pardon, j'ai eu un problème. Pouvez-vous répéter ?",
    apology: 'Je suis désolé, nous avons des difficultés techniques. Veuillez rappeler plus tard. Au revoir.',
    goodbye: 'Au revoir.',
    timeIsUp: 'Le temps est écoulé. Merci, au revoir.',
    stillThere: 'Êtes-vous toujours là ?',
    cannotHear:
      'Je suis désolé, je ne comprends pas la parole sur cette ligne. Utilisez votre clavier ou écrivez ' +
      'votre message.',
    back: 'Pardon, je vous ai perdu un instant.',
  },
  acknowledgements:
    "oui|ouais|ok|okay|d'accord|daccord|d’accord|bien|très bien|mhm|hmm|ah|ah oui|je vois|voilà|exact|" +
    'tout à fait|entendu|euh|hein',
  symbols: {
    at: 'arobase',
    dot: 'point',
    dash: 'tiret',
    underscore: 'tiret bas',
    slash: 'slash',
    plus: 'plus',
  },
  abbreviations:
    'M.=Monsieur|Mme=Madame|Mlle=Mademoiselle|Dr=Docteur|etc.=et cetera|env.=environ|tél.=téléphone|' +
    'av.=avenue|bd=boulevard|St=Saint|Ste=Sainte|&=et',
  consult: {
    introduction: 'Bonjour, ici {agent}. J’ai un appel pour vous, du numéro {number}.',
    introductionWithoutNumber: 'Bonjour, ici {agent}. J’ai un appel pour vous.',
    question: 'Puis-je vous mettre en relation ? Dites oui ou non.',
    declined: 'Très bien. Merci, au revoir.',
    callerGone: 'Je suis désolé, la personne a raccroché. Au revoir.',
    yes: "oui|d'accord|bien sûr|allez-y|volontiers|okay|ok",
    no: 'non|pas|plus tard|jamais',
    voicemail: 'laissez un message|laisser un message|après le bip|après le signal|messagerie|répondeur',
  },
} satisfies LanguageTexts;
