/** Spanish: what the agent says by itself, and how callers acknowledge. */
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
  acknowledgements: 'sí|si|ok|okay|vale|claro|bueno|bien|ajá|aja|mhm|hmm|entiendo|ya|eso|exacto|perfecto|eh|este|ah',
  symbols: { at: 'arroba', dot: 'punto', dash: 'guion', underscore: 'guion bajo', slash: 'barra', plus: 'más' },
  abbreviations:
    'Sr.=Señor|Sra.=Señora|Srta.=Señorita|Dr.=Doctor|Dra.=Doctora|Ud.=usted|Uds.=ustedes|etc.=etcétera|aprox.=aproximadamente|tel.=teléfono|av.=avenida|Av.=Avenida|pág.=página|núm.=número|&=y',
} satisfies LanguageTexts;
