/**
 * Words that reveal a turn's state, in every speaking language: hesitations, words that must be followed by
 * more (conjunctions, articles, prepositions, auxiliaries, pronouns), and the words of a dictated e-mail
 * address. Languages without spaces are matched by the end of the text.
 */

/** Sounds and words of hesitation that mean nothing else in another language. */
const HESITATIONS = new Set(
  (
    'um uh uhm er erm hmm mm mmm like well äh ähm öh euh heu eh este pues ehm boh nou nå hm ээ эм ну ' +
    'yani şey えっと えーと あの その まあ 那个 嗯 呃 음 어 그 저기 yyy eee izé hát ööh tota niinku'
  ).split(' '),
);

/** Words that are hesitations in one language, and answers or names in others. */
const OWN_HESITATIONS = setsOf({
  fr: 'ben',
  pl: 'no',
  cs: 'no tak',
  sk: 'no tak',
  fi: 'no',
  et: 'no',
  hu: 'no',
});

/** Words of a language that are sounds of hesitation in others: "um" is one in Portuguese. */
const WORDS = setsOf({ pt: 'um' });

/** Those that are only sounds; digits are read first. */
const FILLERS = new Set('um uh uhm erm hmm mm mmm äh ähm öh euh heu ehm'.split(' '));

/** Words that must be followed by more, per language. */
export const HANGING: Readonly<Record<string, string>> = {
  en:
    'and or but so because if when that which who the a an my your his her our their to of for from with ' +
    "without into about in at on by as than is are was were am be i'm it's i he she we they and then " +
    'maybe also not very',
  de:
    'und oder aber weil wenn dass der die das ein eine einen einem mein meine meinen dein zu von für mit ' +
    'ohne in im an am auf bei beim vom zum zur ist sind war ich wir noch',
  fr:
    'et ou mais parce que si quand le la les un une des mon ma mes ton de du pour avec sans dans à au en ' +
    "sur chez est sont c'est je nous ne",
  es:
    'y o pero porque si cuando que el la los las un una mi mis tu de del para por con sin en a al es son ' +
    'está estoy yo no',
  pt:
    'e ou mas porque se quando que o a os as um uma meu minha de do da para por com sem em no na ao é ' +
    'são está eu nós não',
  it:
    'e o ma perché se quando che il lo la i gli le un una mio mia di del della per con senza in nel a al ' +
    'è sono sta io noi non',
  nl:
    'en of maar omdat als dat die de het een mijn zijn naar van voor met zonder in op aan bij is ben was ' +
    'ik wij we nog',
  ca:
    'i o però perquè si quan que el la els les un una meu meva de del per amb sense en a al és són està ' +
    'jo no',
  ro: 'și sau dar pentru că dacă când care un o mea meu de din la cu fără în pe este sunt e eu noi nu',
  sv:
    'och eller men för att om när som den det en ett min mitt till från med utan i på hos är var jag vi ' +
    'inte',
  da:
    'og eller men fordi at hvis når som den det en et min mit til fra med uden i på hos er var jeg vi ' +
    'ikke for',
  no:
    'og eller men fordi at hvis når som den det en et min mitt til fra med uten i på hos er var jeg vi ' +
    'ikke for',
  fi: 'ja tai mutta koska jos kun että joka minun mun sen se on oli olen minä me ei ilman kanssa',
  et: 'ja või aga sest kui et mis minu selle see on oli olen ma me ei ilma koos',
  pl:
    'i lub albo ale bo ponieważ jeśli gdy że który mój moja do od dla z ze bez w na przy po jest są był ' +
    'ja my nie',
  cs: 'a nebo ale protože jestli když že který můj moje do od pro s se bez v na u po je jsou byl já my ne',
  sk: 'a alebo ale pretože ak keď že ktorý môj moja do od pre s so bez v na u po je sú bol ja my nie',
  hr: 'i ili ali jer ako kad da koji moj moja do od za s sa bez u na kod po je su bio ja mi ne',
  sr:
    'i ili ali jer ako kad da koji moj moja do od za s sa bez u na kod po je su bio ja mi ne и или али ' +
    'јер ако кад да који мој моја до од за с са без у на код по је су био ја ми не',
  bg: 'и или но защото ако когато че който моят моя до от за с със без в във на при по е са беше аз ние не',
  ru:
    'и или но а потому если когда что который мой моя мое до от для с со без в во на у при по это был я ' +
    'мы не',
  uk: 'і й та або але бо якщо коли що який мій моя до від для з із без в у на при по це був я ми не',
  el:
    'και ή αλλά γιατί αν όταν ότι που ο η το οι τα ένας μια ένα μου του της από για με χωρίς σε στο στη ' +
    'είναι ήταν εγώ δεν',
  hu: 'és vagy de mert ha amikor hogy ami a az egy én mi nem meg is nélkül',
  tr: 've veya ama çünkü eğer bir bu ben benim biz için ile gibi daha de da ki',
  lv: 'un vai bet jo ja kad ka mans mana no uz ar bez par ir bija es mēs ne',
  lt: 'ir ar bet nes jei kai kad mano iš į su be apie yra buvo aš mes ne',
  id:
    'dan atau tapi karena kalau jika ketika bahwa yang di ke dari untuk dengan tanpa adalah saya kami ' +
    'tidak',
  ms:
    'dan atau tetapi tapi kerana kalau jika bila bahawa yang di ke dari untuk dengan tanpa adalah saya ' +
    'kami tidak',
  tl: 'at o pero dahil kung kapag na ang ng mga sa para kay ako ay hindi',
  vi: 'và hoặc nhưng vì nếu khi mà là của cho với không ở tại tôi chúng những một các',
  af: "en of maar omdat as dat wat die 'n my jou na van vir met sonder in op by is was ek ons nog nie",
  he: 'ו או אבל כי אם כש ש של את על עם בלי אל ב ל אני אנחנו לא זה',
  ar: 'و أو لكن لأن إذا عندما أن التي الذي من إلى في على عن مع بدون هو هي أنا نحن لا',
  fa: 'و یا اما ولی چون اگر وقتی که از به در بر با بدون برای من ما یک این',
  ur: 'اور یا لیکن کیونکہ اگر جب کہ کا کی کے کو سے میں پر میرا میری ایک یہ',
  hi: 'और या लेकिन क्योंकि अगर जब कि का की के को से में पर मेरा मेरी एक यह मैं हम',
  mr: 'आणि किंवा पण कारण जर जेव्हा की चा ची चे माझा माझी एक हे मी आम्ही',
  ne: 'र वा तर किनभने यदि जब कि को का की लाई मा बाट मेरो एक यो म हामी',
  bn: 'এবং আর বা কিন্তু কারণ যদি যখন যে আমার একটা একটি এই আমি আমরা',
  gu: 'અને અથવા પણ કારણ જો જ્યારે કે નો ની નું ના મારો મારી એક આ હું અમે',
  pa: 'ਅਤੇ ਜਾਂ ਪਰ ਕਿਉਂਕਿ ਜੇ ਜਦੋਂ ਕਿ ਦਾ ਦੀ ਦੇ ਨੂੰ ਤੋਂ ਵਿੱਚ ਮੇਰਾ ਮੇਰੀ ਇੱਕ ਇਹ ਮੈਂ',
  ta: 'மற்றும் அல்லது ஆனால் ஏனென்றால் என் எனது ஒரு இந்த நான் நாங்கள்',
  te: 'మరియు లేదా కానీ ఎందుకంటే నా ఒక ఈ నేను మేము',
  kn: 'ಮತ್ತು ಅಥವಾ ಆದರೆ ಏಕೆಂದರೆ ನನ್ನ ಒಂದು ಈ ನಾನು ನಾವು',
  kk: 'және немесе бірақ өйткені егер бір бұл менің үшін мен біз',
  ka: 'და ან მაგრამ რადგან თუ როცა რომ ჩემი ერთი ეს მე ჩვენ',
  hy: 'և ու կամ բայց որովհետև եթե երբ որ իմ մի այս ես մենք',
  ja: 'と や が で に を は も の から ので けど けれど って それで あと',
  zh: '和 跟 或者 但是 因为 如果 的 在 把 给 对 我的 还有 然后 所以 就是 一个',
  ko: '그리고 하고 또는 근데 그런데 하지만 때문에 은 는 이 가 을 를 의 에 와 과 그래서',
  th: 'และ หรือ แต่ เพราะ ถ้า เมื่อ ที่ ของ กับ ใน จาก เพื่อ ให้ คือ ผม ฉัน',
};

/** Words that deny what follows, and alone answer "no", per language. */
const DENIALS = setsOf({
  es: 'no',
  ca: 'no',
  pt: 'não',
  ro: 'nu',
  fi: 'ei',
  et: 'ei',
  pl: 'nie',
  cs: 'ne',
  sk: 'nie',
  hr: 'ne',
  sr: 'ne не',
  bg: 'не',
  lt: 'ne',
  lv: 'ne',
  hu: 'nem',
  id: 'tidak',
  ms: 'tidak',
  tl: 'hindi',
  vi: 'không',
  he: 'לא',
  ar: 'لا',
});

/** Languages without spaces, or with such endings attached to the word before. */
const UNSPACED = new Set(['ja', 'zh', 'ko', 'th']);

const SETS = setsOf(HANGING);

function setsOf(lists: Readonly<Record<string, string>>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(lists).map(([language, list]) => [language, new Set(list.split(' '))]));
}

/** True when the text ends in a hesitation. */
export function endsHesitating(lastWord: string, language: string): boolean {
  if (WORDS.get(language)?.has(lastWord)) return false;
  return HESITATIONS.has(lastWord) || OWN_HESITATIONS.get(language)?.has(lastWord) === true;
}

/** True for a sound between words that says nothing. */
export function isFiller(word: string): boolean {
  return FILLERS.has(word);
}

/** True for a word that answers "no" if it is said alone. */
export function answersNo(word: string, language: string): boolean {
  return DENIALS.get(language)?.has(word) === true;
}

/** True when more must follow the last word. */
export function endsHanging(lastWord: string, language: string): boolean {
  const hanging = SETS.get(language);
  if (!hanging || lastWord === '') return false;
  if (!UNSPACED.has(language)) return hanging.has(lastWord);
  return [...hanging].some((ending) => lastWord.endsWith(ending));
}

/** Words that announce a dictated e-mail address or occur in one. */
export const MAIL_WORDS =
  /@|\be-?mail|\bmail address|\bcorreo\b|\bcourriel|почт|пошт|имейл|メール|邮箱|邮件|이메일|e-?posta|\bat (gmail|hotmail|yahoo|outlook|icloud)\b|arroba|arobase|chiocciola|klammeraffe|apenstaartje|zavináč|アットマーク|골뱅이/u;
export const MAIL_AT =
  /@|\bat\b|arroba|arobase|chiocciola|klammeraffe|apenstaartje|zavináč|małpa|собака|snabel-?a|krøllalfa|kukac|アット(マーク)?|골뱅이|艾特/u;
export const MAIL_DOT =
  /\.|\b(dot|punkt|point|punto|ponto|punt|punct|piste|nokta|pont)\b|kropka|tečka|bodka|точка|крапка|ドット|점|点/u;
