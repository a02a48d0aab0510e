/** Words for digits in every speaking language, for dictated numbers and spoken keys. */

/** Zero to nine; variants of one digit are joined by `|`. */
export const DIGITS: Readonly<Record<string, string>> = {
  en: 'zero|oh|nought one two three four five six seven eight nine',
  ja: 'ゼロ|れい|零 一|いち 二|に 三|さん 四|よん|し 五|ご 六|ろく 七|なな|しち 八|はち 九|きゅう|く',
  zh: '零|〇 一|幺 二|两 三 四 五 六 七 八 九',
  ko: '영|공 일|하나 이|둘 삼|셋 사|넷 오|다섯 육|여섯 칠|일곱 팔|여덟 구|아홉',
  es: 'cero uno|una dos tres cuatro cinco seis siete ocho nueve',
  fr: 'zéro un|une deux trois quatre cinq six sept huit neuf',
  de: 'null eins|ein zwei|zwo drei vier fünf sechs sieben acht neun',
  pt: 'zero um|uma dois|duas três quatro cinco seis|meia sete oito nove',
  it: 'zero uno|una due tre quattro cinque sei sette otto nove',
  nl: 'nul een|één twee drie vier vijf zes zeven acht negen',
  ar: 'صفر واحد اثنان|اثنين ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة',
  hi: 'शून्य एक दो तीन चार पांच|पाँच छह|छः सात आठ नौ',
  id: 'nol|kosong satu dua tiga empat lima enam tujuh delapan sembilan',
  tr: 'sıfır bir iki üç dört beş altı yedi sekiz dokuz',
  ru: 'ноль|нуль один|одна два|две три четыре пять шесть семь восемь девять',
  bg: 'нула едно|един две|два три четири пет шест седем осем девет',
  sr:
    'nula|нула jedan|један dva|два tri|три četiri|четири pet|пет šest|шест sedam|седам osam|осам devet|' +
    'девет',
  hr: 'nula jedan dva tri četiri pet šest sedam osam devet',
  cs: 'nula jedna|jeden dva|dvě tři čtyři pět šest sedm osm devět',
  sk: 'nula jeden|jedna dva|dve tri štyri päť šesť sedem osem deväť',
  pl: 'zero jeden dwa trzy cztery pięć sześć siedem osiem dziewięć',
  uk: 'нуль один|одна два|дві три чотири пʼять|п’ять|пять шість сім вісім девʼять|дев’ять|девять',
  ro: 'zero unu|una doi|două trei patru cinci șase șapte opt nouă',
  hu: 'nulla egy kettő|két három négy öt hat hét nyolc kilenc',
  el: 'μηδέν ένα δύο|δυο τρία τέσσερα πέντε έξι επτά|εφτά οκτώ|οχτώ εννέα|εννιά',
  sv: 'noll ett|en två tre fyra fem sex sju åtta nio',
  da: 'nul en|et to tre fire fem seks syv otte ni',
  no: 'null en|ett to tre fire fem seks sju|syv åtte ni',
  fi: 'nolla yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän',
  et: 'null üks kaks kolm neli viis kuus seitse kaheksa üheksa',
  lv: 'nulle viens divi trīs četri pieci seši septiņi astoņi deviņi',
  lt: 'nulis vienas|viens du trys keturi penki šeši septyni aštuoni devyni',
  ca: 'zero un|u dos|dues tres quatre cinc sis set vuit nou',
  he: 'אפס אחת|אחד שתיים|שניים שלוש ארבע חמש שש שבע שמונה תשע',
  fa: 'صفر یک دو سه چهار پنج شش|شیش هفت هشت نه',
  ur: 'صفر ایک دو تین چار پانچ چھ سات آٹھ نو',
  kk: 'нөл бір екі үш төрт бес алты жеті сегіз тоғыз',
  ka: 'ნული ერთი ორი სამი ოთხი ხუთი ექვსი შვიდი რვა ცხრა',
  hy: 'զրո մեկ երկու երեք չորս հինգ վեց յոթ ութ ինը',
  bn: 'শূন্য এক দুই তিন চার পাঁচ ছয় সাত আট নয়',
  ta: 'பூஜ்யம் ஒன்று இரண்டு மூன்று நான்கு ஐந்து ஆறு ஏழு எட்டு ஒன்பது',
  te: 'సున్నా ఒకటి రెండు మూడు నాలుగు ఐదు ఆరు ఏడు ఎనిమిది తొమ్మిది',
  kn: 'ಸೊನ್ನೆ ಒಂದು ಎರಡು ಮೂರು ನಾಲ್ಕು ಐದು ಆರು ಏಳು ಎಂಟು ಒಂಬತ್ತು',
  mr: 'शून्य एक दोन तीन चार पाच सहा सात आठ नऊ',
  gu: 'શૂન્ય એક બે ત્રણ ચાર પાંચ છ સાત આઠ નવ',
  pa: 'ਸਿਫ਼ਰ ਇੱਕ ਦੋ ਤਿੰਨ ਚਾਰ ਪੰਜ ਛੇ ਸੱਤ ਅੱਠ ਨੌਂ',
  ne: 'शून्य एक दुई तीन चार पाँच छ सात आठ नौ',
  th: 'ศูนย์ หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า',
  vi: 'không một|mốt hai ba bốn|tư năm|lăm sáu bảy tám chín',
  ms: 'kosong|sifar satu dua tiga empat lima enam tujuh lapan sembilan',
  tl: 'sero isa dalawa tatlo apat lima anim pito walo siyam',
  af: 'nul een twee drie vier vyf ses sewe agt nege',
};

const BY_LANGUAGE = new Map(Object.entries(DIGITS).map(([language, list]) => [language, digitsByWord(list)]));

function digitsByWord(list: string): ReadonlyMap<string, string> {
  return new Map(
    list
      .split(' ')
      .flatMap((variants, digit) =>
        variants.split('|').map((word): [string, string] => [word, String(digit)]),
      ),
  );
}

/** "Double five" is five twice. */
const REPEATS: ReadonlyMap<string, number> = new Map([
  ['double', 1],
  ['triple', 2],
  ['doble', 1],
  ['dobro', 1],
  ['doppio', 1],
]);

/** How often a word such as "double" repeats what follows it; 0 for other words. */
export function repeatsAfter(word: string): number {
  return REPEATS.get(word) ?? 0;
}

/** True for digits, perhaps with a plus, hyphens or parentheses: "+44", "555-1234". */
export function isNumeral(word: string): boolean {
  return /^\+?[\d()-]+$/.test(word);
}

/** The digit of a digit word or numeral; null for other words. */
export function digitOf(word: string, language: string): string | null {
  return /^[0-9*#]$/.test(word) ? word : (BY_LANGUAGE.get(language)?.get(word) ?? null);
}
