/** Telugu: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const te = {
  phrases: {
    hold: 'దయచేసి ఒక్క క్షణం ఆగండి.',
    transferring: 'ఇప్పుడే మిమ్మల్ని కలుపుతాను.',
    toolFiller: 'నేను చూసి చెప్తాను.',
    trouble: 'క్షమించండి, ఒక సమస్య వచ్చింది. మళ్ళీ చెప్పగలరా?',
    apology: 'క్షమించండి, సాంకేతిక సమస్య ఉంది. దయచేసి తర్వాత కాల్ చేయండి. నమస్కారం.',
    goodbye: 'ధన్యవాదాలు, నమస్కారం.',
    timeIsUp: 'మన సమయం అయిపోయింది. ధన్యవాదాలు, నమస్కారం.',
    stillThere: 'మీరు ఇంకా లైన్‌లో ఉన్నారా?',
    cannotHear: 'క్షమించండి, ఈ లైన్‌లో మాటలు అర్థం కావడం లేదు. దయచేసి కీప్యాడ్ వాడండి లేదా సందేశం రాయండి.',
    back: 'క్షమించండి, ఒక్క క్షణం మాట ఆగిపోయింది.',
  },
  acknowledgements: 'అవును|ఆ|సరే|సరేనండి|ఓకే|ఊ|హూ|హ్మ్|అలాగే|అర్థమైంది|నిజమే|తప్పకుండా',
  symbols: { at: 'ఎట్', dot: 'డాట్', dash: 'డ్యాష్', underscore: 'అండర్‌స్కోర్', slash: 'స్లాష్', plus: 'ప్లస్' },
} satisfies LanguageTexts;
