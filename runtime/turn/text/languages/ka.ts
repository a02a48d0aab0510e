/** Georgian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ka = {
  phrases: {
    hold: 'ერთი წუთით, გთხოვთ.',
    transferring: 'ახლავე დაგაკავშირებთ.',
    toolFiller: 'ახლავე შევამოწმებ.',
    trouble: 'ბოდიში, პრობლემა შეიქმნა. შეგიძლიათ გაიმეოროთ?',
    apology: 'ბოდიშს გიხდით, ტექნიკური ხარვეზი გვაქვს. გთხოვთ, დარეკოთ მოგვიანებით. ნახვამდის.',
    goodbye: 'ნახვამდის.',
    timeIsUp: 'ჩვენი დრო ამოიწურა. გმადლობთ, ნახვამდის.',
    stillThere: 'კიდევ ხაზზე ხართ?',
    cannotHear: 'ბოდიში, ამ ხაზზე საუბარს ვერ ვარჩევ. გთხოვთ, გამოიყენოთ ღილაკები ან დაწეროთ შეტყობინება.',
    back: 'ბოდიში, კავშირი წამით გაწყდა.',
  },
  acknowledgements:
    'კი|დიახ|ხო|ჰო|კარგი|კარგით|გასაგებია|ნათელია|სწორია|სწორედ|რა თქმა უნდა|ოქეი|ოკ|აჰა|მმ|ჰმ',
  symbols: {
    at: 'ეთ',
    dot: 'წერტილი',
    dash: 'დეფისი',
    underscore: 'ქვედა ტირე',
    slash: 'დახრილი ხაზი',
    plus: 'პლუსი',
  },
} satisfies LanguageTexts;
