/**
 * Words of callers over the agent, held back: they were written before the grammar of acknowledgements, and
 * no rule of it was changed by their figures. `|` separates them. They are spelled as recognisers write them.
 */

/** Words of callers of one language. */
interface HeldBackSounds {
  /** Show that the caller listens. */
  readonly listening: string;
  /** Are meant to stop the agent. */
  readonly meant: string;
}

/** By language. */
export const HELD_BACK_SOUNDS: Readonly<Record<string, HeldBackSounds>> = {
  en: {
    listening:
      "Mm-hm.|Right.|Okay, sure.|I see.|yeah yeah yeah|uh yeah okay|Oh, wow, okay.|that's great|" +
      'Right, right, okay.|haha okay|[laughter] yeah|sure sure|Ah, gotcha.|okay cool|oh really|' +
      "yeah that makes sense|that's good to know|Fair enough.|Alright then.|no worries|absolutely|" +
      "Mmm, okay, yeah.|okay thank you|Oh, brilliant!|very nice|yep got it|hmm okay I see|that's fine|" +
      'Good, good.|Okay, perfect, thanks.|true|that sounds really good|oh nice one|um okay|' +
      'you bet|oh for sure|mhm mhm|yes yes I understand|okey dokey|ah I see yeah',
    meant:
      'okay but what about Sunday|yes I know, stop|No.|Wait.|hold on|right, and how much is that|' +
      "yeah no that's not what I asked|I see, but I need it today|sure, can you repeat that|" +
      "okay stop|that's wrong|oh wait a second|Sorry, what?|can I speak to a person|" +
      "mm no|great, so can I book it|that's not good|alright let me stop you there|um excuse me|" +
      'all right I want to cancel|good question but no|is it open on Monday|never mind|' +
      'yes please book it for two',
  },
  de: {
    listening:
      'Mhm.|Ja.|Ja, genau.|Ja, okay.|ach so okay|Aha.|Alles klar.|ja ja ja|Hm, okay.|Na gut.|' +
      'Ja, das ist gut.|Okay, danke.|Ach, super!|Ja, verstehe ich.|das ist ja toll|haha ja|stimmt ja|' +
      'ja klar|Gut, gut.|Genau, genau.|ähm ja okay|Sehr gut, danke.|okay alles klar|na dann|ja eben|' +
      'ach echt|ja gut okay|das klingt gut|oh wie schön|ja sicher|Ja, natürlich.|mhm ja ja|jo passt|' +
      'ah verstehe|[Lachen] okay|das macht Sinn',
    meant:
      'ja aber was kostet das|okay stopp|Nein.|Moment bitte|ja genau und wann haben Sie offen|' +
      'das ist falsch|Entschuldigung|wie bitte|gut dann möchte ich buchen|ich weiß das schon|' +
      'alles klar aber nicht am Montag|ach nein|warten Sie mal|das stimmt nicht|ja ich möchte einen Termin|' +
      'kann ich mit jemandem sprechen|mhm wie viel kostet das|okay eine Frage noch|halt|das geht nicht|' +
      'ähm Entschuldigung|natürlich nicht',
  },
  fr: {
    listening:
      "Mm-hm.|Oui.|D'accord.|Oui, d'accord.|Ah, d'accord, ok.|ok très bien|Je vois.|oui oui oui|" +
      "Ah oui, je comprends.|C'est bien ça.|Parfait, merci.|Ah ouais.|d'accord d'accord|hum hum|" +
      "Bon, d'accord.|c'est noté|euh oui d'accord|Super, merci.|ça marche|haha d'accord|Ah, c'est super !|" +
      "oui bien sûr|voilà c'est ça|très bien très bien|ok pas de problème|entendu merci|ah oui d'accord|" +
      "c'est vraiment bien|oui c'est clair|mmh oui|oh génial|ouais ouais|effectivement|ben oui|[rires] oui",
    meant:
      "d'accord mais combien ça coûte|oui mais non|Non.|Attendez.|oui et le dimanche|ah non|" +
      "c'est pas ça|stop|excusez-moi|pardon|bon je voudrais réserver|oui je sais arrêtez|" +
      "c'est faux|je vois mais il me le faut demain|une petite question|ok donc je peux réserver|" +
      "très bien je veux annuler|pas du tout|oui j'aimerais un rendez-vous|ce n'est pas possible|" +
      'euh attendez|bien sûr que non',
  },
  es: {
    listening:
      'Mhm.|Sí.|Ajá.|Sí, claro.|Vale, vale.|De acuerdo.|Ah, vale, perfecto.|sí sí sí|ya veo|Ah, ya.|' +
      'Muy bien, gracias.|Ok, entiendo.|claro que sí|está bien|qué bueno|Ah, qué bien.|jaja vale|' +
      'eso es|así es|perfecto gracias|bueno está bien|ah entiendo|pues claro|sí ya veo|eh sí vale|' +
      'genial gracias|me parece bien|ok perfecto|mmm sí|por supuesto|sí de acuerdo|entiendo entiendo|' +
      'ah mira|[risas] sí|exacto exacto|listo',
    meant:
      'sí pero cuánto cuesta|vale pero el domingo no|No.|Espere.|no no eso no|perdón|' +
      'claro y a qué hora abren|eso no es|sí ya lo sé pare|bueno quiero reservar|disculpe|' +
      'está mal|ya pero lo necesito hoy|un momento|ok una pregunta|de acuerdo quiero cancelar|' +
      'sí quiero una mesa|cómo dice|claro que no|me puede pasar con alguien|eh perdone|qué dijo',
  },
  it: {
    listening:
      'Mhm.|Sì.|Va bene.|Sì, va bene.|Ah, ok.|sì sì sì|Certo, certo.|Ho capito.|Ah, ho capito, ok.|' +
      "D'accordo, grazie.|Perfetto, grazie.|Ah, bene.|sì esatto|eh sì|ok ok va bene|molto bene grazie|" +
      'ah che bello|haha sì|è vero|tutto chiaro|sì certo certo|bene bene|mm ok|ehm sì|ottimo grazie|' +
      'capito capito|ma certo|sì infatti|ah ecco|giusto giusto|va benissimo|mi sembra perfetto|' +
      "[risate] va bene|nessun problema|sì sì d'accordo|è molto interessante",
    meant:
      'sì ma quanto costa|va bene però domenica no|No.|Aspetti.|no no un attimo|scusi|' +
      'certo e a che ora aprite|non è così|sì lo so basta|bene vorrei prenotare|ho capito ma mi serve oggi|' +
      'è sbagliato|ok una domanda|un momento|come scusi|sì vorrei un tavolo|allora mi ascolti|' +
      'certo che no|perfetto posso prenotare|non va bene|ehm mi scusi|fermi',
  },
  nl: {
    listening:
      'Mhm.|Ja.|Ja, oké.|Oké, prima.|ja ja ja|Ah, oké.|Precies.|Ja, precies.|Ja, dat snap ik.|' +
      'Dat is goed.|Oké, bedankt.|ja klopt|ah zo|helder|Prima, dank u.|o ja|haha ja|ja inderdaad|' +
      'dat klinkt goed|heel fijn|goed zo|ja hoor|mm oké|eh ja goed|oké duidelijk|ja natuurlijk|' +
      'wat leuk|dat is heel mooi|begrijp ik|top bedankt|ja zeker|ja ja snap ik|geen probleem|' +
      '[gelach] ja|nou ja goed|oh echt',
    meant:
      'ja maar wat kost dat|oké stop|Nee.|Wacht.|wacht even|sorry|goed en op zondag|dat klopt niet|' +
      'dat weet ik al|ja ik wil graag boeken|een vraagje|wat zegt u|nee hoor|prima maar niet maandag|' +
      'oké ik wil annuleren|dat is fout|mag ik iemand spreken|ja en hoe laat|mm nee|momentje|' +
      'eh sorry|natuurlijk niet',
  },
  pt: {
    listening:
      'Uhum.|Sim.|Certo.|Tá bom.|Sim, claro.|Ah, tá.|sim sim sim|ok ok|Entendi.|Ah, entendi, ok.|' +
      'Tudo bem.|Muito bem, obrigado.|Perfeito, obrigada.|pois é|isso mesmo|que ótimo|Ah, que bom.|' +
      'haha sim|está bem|claro claro|beleza|tá certo|com certeza|hum ok|é verdade|sim entendo|' +
      'ah sim claro|ótimo obrigado|mm sim|muito interessante|sem problema|exatamente|pois pois|' +
      '[risos] tá bom|eh sim ok|parece bom',
    meant:
      'sim mas quanto custa|tá mas domingo não|Não.|Espere.|espera aí|desculpe|' +
      'certo e a que horas abrem|não é isso|sim já sei pare|bom quero reservar|entendi mas preciso hoje|' +
      'está errado|ok uma pergunta|um momento|como|sim quero uma mesa|claro que não|' +
      'posso falar com alguém|isso não|tudo bem quero cancelar|hum desculpa|não está bem',
  },
};
