/** Spanish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const es = {
  phrases: {
    hold: 'Un momento, por favor.',
    transferring: 'Le paso ahora mismo.',
    toolFiller: 'Déjeme comprobarlo.',
    trouble: 'Perdone, he tenido un problema. ¿Puede repetirlo?',
    apology: 'Lo siento, tenemos dificultades técnicas. Por favor, llame más tarde. Adiós.',
    goodbye: 'Adiós.',
    timeIsUp: 'Se nos ha acabado el tiempo. Gracias, adiós.',
    stillThere: '¿Sigue ahí?',
    cannotHear: 'Lo siento, no puedo entender la voz en esta línea. Use el teclado o escriba su mensaje.',
    back: 'Perdone, se ha cortado un segundo.',
  },
  acknowledgements:
    'sí|si|ok|okay|vale|claro|bueno|bien|ajá|aja|mhm|hmm|entiendo|ya|eso|exacto|perfecto|eh|este|ah',
  symbols: {
    at: 'arroba',
    dot: 'punto',
    dash: 'guion',
    underscore: 'guion bajo',
    slash: 'barra',
    plus: 'más',
  },
  abbreviations:
    'Sr.=Señor|Sra.=Señora|Srta.=Señorita|Dr.=Doctor|Dra.=Doctora|Ud.=usted|Uds.=ustedes|etc.=etcétera|' +
    'aprox.=aproximadamente|tel.=teléfono|av.=avenida|Av.=Avenida|pág.=página|núm.=número|&=y',
  consult: {
    introduction: 'Hola, soy {agent}. Tengo una llamada para usted, del número {number}.',
    introductionWithoutNumber: 'Hola, soy {agent}. Tengo una llamada para usted.',
    question: '¿Puedo pasarle la llamada? Diga sí o no.',
    declined: 'De acuerdo. Gracias, adiós.',
    callerGone: 'Lo siento, la persona ha colgado. Adiós.',
    yes: 'sí|si|claro|de acuerdo|vale|adelante|por supuesto|okay|ok',
    no: 'no|ahora no|más tarde|nunca',
    voicemail:
      'deje un mensaje|deje su mensaje|después del tono|después de la señal|buzón de voz|contestador',
  },
} satisfies LanguageTexts;
