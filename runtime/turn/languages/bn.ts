/** Bengali: what the agent says by itself, and how callers acknowledge. */
import type { LanguageTexts } from './language-texts.ts';

export const bn = {
  phrases: {
    hold: 'অনুগ্রহ করে একটু অপেক্ষা করুন।',
    transferring: 'আমি এখনই আপনাকে সংযোগ করে দিচ্ছি।',
    toolFiller: 'আমি এখনই দেখে নিচ্ছি।',
    trouble: 'দুঃখিত, একটু সমস্যা হয়েছে। আবার বলবেন কি?',
    apology: 'দুঃখিত, আমাদের কারিগরি সমস্যা হচ্ছে। অনুগ্রহ করে পরে আবার ফোন করুন। ভালো থাকবেন।',
    goodbye: 'ভালো থাকবেন।',
    timeIsUp: 'আমাদের সময় শেষ। ধন্যবাদ, ভালো থাকবেন।',
    stillThere: 'আপনি কি লাইনে আছেন?',
    cannotHear: 'দুঃখিত, এই লাইনে আমি কথা বুঝতে পারছি না। অনুগ্রহ করে কিপ্যাড ব্যবহার করুন বা বার্তা লিখুন।',
    back: 'দুঃখিত, এক মুহূর্তের জন্য কথা কেটে গিয়েছিল।',
  },
  acknowledgements: 'হ্যাঁ|হ্যা|জি|জ্বি|হুম|হুঁ|আচ্ছা|ঠিক|ঠিক আছে|ওকে|বুঝেছি|বুঝলাম|অবশ্যই|ভালো',
  symbols: { at: 'অ্যাট', dot: 'ডট', dash: 'ড্যাশ', underscore: 'আন্ডারস্কোর', slash: 'স্ল্যাশ', plus: 'প্লাস' },
} satisfies LanguageTexts;
