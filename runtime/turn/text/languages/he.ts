/** Hebrew: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const he = {
  phrases: {
    hold: 'רק רגע, בבקשה.',
    transferring: 'אני מעביר אותך עכשיו.',
    toolFiller: 'אני בודק את זה.',
    trouble: 'סליחה, הייתה בעיה. אפשר לחזור על זה?',
    apology: 'מצטערים, יש לנו תקלה טכנית. נא להתקשר שוב מאוחר יותר. להתראות.',
    goodbye: 'להתראות.',
    timeIsUp: 'הזמן שלנו נגמר. תודה, להתראות.',
    stillThere: 'האם אתם עדיין על הקו?',
    cannotHear: 'סליחה, אני לא מצליח להבין דיבור בקו הזה. נא להשתמש במקשים או לכתוב הודעה.',
    back: 'סליחה, הקו נקטע לרגע.',
  },
  acknowledgements: 'כן|כן כן|אוקיי|אוקי|טוב|בסדר|נכון|בטח|ברור|הבנתי|מבין|מבינה|אהה|אה|אהא|ממ|המ|אמ',
  symbols: { at: 'שטרודל', dot: 'נקודה', dash: 'מקף', underscore: 'קו תחתון', slash: 'לוכסן', plus: 'פלוס' },
} satisfies LanguageTexts;
