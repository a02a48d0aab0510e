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
    "oui|ouais|ouaip|mouais|ok|okay|d'accord|daccord|d'ac|bien|très bien|bon|mhm|hmm|hum|ah|ah oui|" +
    "ben oui|bah oui|eh oui|je vois|je comprends|j'ai compris|j'entends|compris|voilà|exact|exactement|" +
    'absolument|effectivement|en effet|évidemment|certainement|carrément|tout à fait|volontiers|entendu|' +
    'bien entendu|bien reçu|noté|euh|heu|hein|tiens|ah bon|oh|waouh|wow|vraiment|super|parfait|génial|' +
    'top|cool|nickel|chouette|bravo|excellent|formidable|magnifique|merveilleux|intéressant|logique|' +
    'bien sûr|ça marche|ça roule|ça va|ça me va|ça me convient|impeccable|pas de problème|pas de souci|' +
    'aucun problème|aucun souci|sans problème|bonne idée',
  listening: {
    openings: "c'est|ce serait|ça serait|ça a l'air|ça me semble|ça me paraît",
    degrees: 'très|vraiment|trop|tout à fait|bien|super|plutôt|absolument|tellement|tout',
    qualities:
      'bien|bon|bon à savoir|parfait|super|génial|top|cool|clair|noté|compris|entendu|vrai|exact|juste|' +
      'ça|cela|intéressant|excellent|formidable|magnifique|merveilleux|gentil|chouette|impeccable|' +
      'pratique|logique|sympa|beau|joli|une bonne idée',
    courtesies: 'merci|merci beaucoup|merci bien|un grand merci|madame|monsieur',
  },
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
  questions: {
    yes: "oui|ouais|d'accord|ok|okay|bien sûr|volontiers|allez-y",
    surely: "exactement|exact|tout à fait|c'est ça|c'est bien ça|c'est exact|c'est correct|parfait",
    no: 'non',
    closing: "c'est tout|ce sera tout|rien d'autre|ça ira",
    courtesy: "merci|s'il vous plaît|s'il te plaît|merci beaucoup|monsieur|madame",
    open:
      'qui|que puis-je|que voulez-vous|que souhaitez-vous|quoi|quel|quelle|quels|quelles|quand|où|pourquoi|' +
      "comment|combien|qu'est-ce que|" +
      "qu'est-ce qui|dites-moi|expliquer|décrire|répéter|préciser|donner|me dire|puis-je avoir|" +
      'pourrais-je avoir|me lire|lisez-moi|me communiquer|indiquer',
    offers: "autre chose|d'autres questions|d'autre",
    or: 'ou',
    requests: "s'il vous plaît|donnez-moi|dites-moi|j'ai besoin",
    phone: 'numéro de téléphone|numéro de portable|numéro de mobile|à quel numéro|sur quel numéro',
    phoneLengths: '0=9,10',
    numbers: '',
    digits: 'chiffres',
    email: 'e-mail|email|adresse mail|mail|courriel|adresse e-mail|adresse email',
    postal: {
      names:
        'votre adresse|ton adresse|adresse postale|adresse complète|adresse de livraison|' +
        "adresse de facturation|adresse personnelle|l'adresse",
      streets: 'rue|avenue|boulevard|place|chemin|impasse|allée|quai|route|cours|square|passage',
      beforeTown: [5],
      atEnd: [],
      townBegins: 'saint|sainte|la|le|les',
    },
    spelling: "épeler|épelez|s'écrit|s'épelle|écrivez-vous",
    fullName: 'nom complet|nom et prénom|prénom et nom|nom et votre prénom|prénom et votre nom',
    birth: 'date de naissance|né|née',
    several: 'numéros de téléphone|numéros|adresses|e-mails|codes|noms|tous les deux|les deux',
    joins: 'et|ainsi que|puis',
    about:
      'quel pays|quelle ville|où êtes|où est|lieu de naissance|' +
      "indicatif du pays|indicatif international|quel indicatif|quel est l'indicatif|le reste|" +
      'la suite de|la suite du|première partie|deuxième partie|dernière partie|continuez|quelle année|' +
      'quel mois|quel jour|quelle heure|depuis quand|pourquoi|combien|qui|un instant|un moment|' +
      'patientez|pendant que',
    announces: 'numéro|code|adresse|e-mail|mail|date|compte|nom|réservation|commande',
    otherwise:
      'pardon|comment|quoi|pourquoi|qui|allô|allo|désolé|désolée|excusez-moi|répétez|pas|rien|aucun|' +
      'aucune|jamais|sans|attendez',
    leads: 'et|le|la|les|votre|vos|un|une|derniers|premiers',
    begins: "c'est|c'est le|est|est le|oui|le",
    asIn: 'comme',
  },
  pressing: {
    always: "j'ai appuyé|j'appuie|je viens d'appuyer|je vais appuyer|j'ai pressé|je presse",
    withKey:
      "j'ai tapé|je tape|je vais taper|j'ai composé|je compose|je vais composer|j'ai saisi|" +
      "je saisis|j'ai choisi",
    keys: 'étoile|dièse|touche|touches|poste',
    denials: 'pas|jamais',
  },
} satisfies LanguageTexts;
