/**
 * Words by which an automated line is told from a person, in six languages. They match folded text: lower
 * case, without accents, every other character a single space.
 */

/** Cues of one language. */
interface LineCues {
  /** One option of a menu that is chosen by key. */
  readonly options: RegExp;
  /** The menu is answered by speaking. */
  readonly spoken: RegExp;
  /** A phone asks who calls and why, before it rings. */
  readonly screening: RegExp;
  /** An announcement to those who wait. */
  readonly waiting: RegExp;
  /** A person asks to wait. */
  readonly asked: RegExp;
  /** Announcements that say nothing about what follows. */
  readonly announced: RegExp;
  /** Nobody will come to this line. */
  readonly ended: RegExp;
  /** Only people say this. */
  readonly offered: RegExp;
  /** How a person's first words begin. */
  readonly answered: RegExp;
  /** People say this, and announcements as well. */
  readonly greeted: RegExp;
}

/** By language; a call is judged by all of them, because a line does not know the agent's language. */
export const LINE_CUES: readonly LineCues[] = [
  {
    options:
      /\b(?:press|push|dial|hit|touch|enter|select)(?: the)?(?: number| key| digit)? (?:\d|zero|one|two|three|four|five|six|seven|eight|nine|star|pound|hash|any key)\b|\bfollowed by (?:the )?(?:pound|hash|star)\b|\byour party s extension\b|\bknow the extension\b|\bplease enter (?:it|your|the)\b/g,
    spoken:
      /\b(?:briefly|in (?:a |just a )?few words)(?: please)? (?:tell|say|state|describe)\b|\b(?:please|can|may|or|just) say (?:yes|no|or|things)\b|^say (?:yes|no|or|things)\b/,
    screening:
      /\bscreening (?:service|assistant|on)\b|\bbeing screened\b|\bcall assist\b|\b(?:say|state|record|tell me) your (?:full )?name\b|\byour name and (?:the |your )?(?:reason|purpose|why)\b|\bbefore i (?:try to )?connect you\b|\b(?:say|state|tell me) the (?:purpose|reason)\b|\bsee if (?:this|the) person is available\b|\bdoes not accept (?:unidentified|unknown|private|anonymous)\b/,
    waiting:
      /\bcall is (?:very )?important\b|\b(?:agents|representatives|operators|advisers|advisors|associates|specialists|lines|colleagues) are\b|\bnext available\b|\bcalls? waiting\b|\banswered in the order\b|\bin the queue\b|\bcaller number\b|\b(?:estimated|approximate|expected|average) (?:wait|hold)|\bwait time\b|\byour patience\b|\b(?:stay|remain) on the line\b|\b(?:continue to|please) hold\b|\bplease (?:wait|stand by)\b|\bbe with you (?:shortly|soon|as)\b|\bwhile (?:i|we) (?:transfer|connect)\b|\b(?:transferring|connecting) you|\bcall volumes?\b/,
    asked:
      /\b(?:can|could|would) you (?:please )?hold\b|\b(?:hold|hang) on\b|\b(?:one|just a|just one|a|give me a|give me one) (?:moment|second|sec|minute)\b|\bbear with me\b|\bput you on hold\b|\blet me (?:check|see|look|find out|transfer|connect)\b/,
    announced:
      /\b(?:welcome to|thank you for (?:calling|choosing|contacting))\b|\bmay be (?:recorded|monitored)\b|\b(?:will|is) (?:be |being )?recorded\b|\bmenu options\b|\bdid you know\b|\bour website\b|\bdot com\b|\bare (?:currently |now )?closed\b|\b(?:office|opening|business) hours\b|\bnot a valid\b|\b(?:nobody|no one) is available\b/,
    ended:
      /\b(?:not|no longer) in service\b|\bcan ?not be completed\b|\bcircuits are busy\b|\bhang up and try\b|\bcheck the number\b|\bcall (?:us )?back (?:during|later)\b/,
    offered:
      /\bhow (?:can|may|could) i\b|\bcan i help\b|\bwhat can i do\b|\bmy name is\b|\byou re speaking (?:with|to)\b|\bthis is (?!an?\b|the\b|our\b|your\b|not\b)[a-z]|\bspeaking$/,
    answered: /^(?:hello|hi|hey|yes|yeah|go ahead|who is|what)\b/,
    greeted: /\b(?:hello|hi|hey|sorry|okay|yes|yeah|i|i m|you re)\b/,
  },
  {
    options:
      /\b(?:drucken|wahlen|tippen) sie (?:bitte )?(?:auf )?(?:die )?(?:taste )?(?:\d|null|eins|zwei|drei|vier|funf|sechs|sieben|acht|neun|raute|stern)|\bmit (?:der )?(?:raute|stern)taste\b/g,
    spoken: /\bsagen sie (?:bitte )?(?:ja|nein|einfach)\b|\bin wenigen worten\b/,
    screening: /\b(?:nennen|sagen) sie (?:mir )?(?:bitte )?ihren namen\b|\bgrund (?:ihres|fur ihren) anruf/,
    waiting:
      /\b(?:alle|unsere) (?:unsere )?(?:mitarbeiter|leitungen|berater|platze)\b|\bnachster? freie|\bin der warteschlange\b|\bwartezeit\b|\bin der leitung\b|\bgeduld\b|\banruf ist uns (?:sehr )?wichtig\b/,
    asked:
      /^(?:moment|augenblick|sekunde)$|\b(?:moment|augenblick|sekunde) bitte\b|\b(?:einen|kleinen) (?:moment|augenblick)\b|\bwarten sie (?:bitte )?kurz\b|\bich (?:verbinde|stelle sie durch|schaue nach)\b/,
    announced:
      /\bwillkommen (?:bei|beim|in)\b|\baufgezeichnet\b|\b(?:offnungs|geschafts)zeiten\b|\bunserer (?:webseite|website|internetseite)\b|\bdank fur ihren anruf\b/,
    ended:
      /\bkein anschluss\b|\bnummer ist nicht vergeben\b|\brufen sie (?:bitte )?(?:spater|wahrend|zu unseren)\b/,
    offered:
      /\bwas kann ich\b|\bwie (?:kann|darf) ich\b|\bkann ich (?:ihnen )?helfen\b|\bmein name ist\b|\bam apparat$/,
    answered: /^(?:hallo|ja|wer)\b/,
    greeted: /\b(?:hallo|ja|guten tag|guten morgen|ich|so)\b/,
  },
  {
    options:
      /\b(?:tapez|appuyez|faites|composez)(?: sur)?(?: la)?(?: touche)?(?: le)? (?:\d|zero|un|deux|trois|quatre|cinq|six|sept|huit|neuf|etoile|diese)\b/g,
    spoken: /\bdites (?:oui|non|simplement)\b|\ben quelques mots\b/,
    screening:
      /\b(?:dites|indiquez|indiquer|donnez|donner)(?: moi)? votre nom\b|\b(?:raison|motif) de votre appel\b/,
    waiting:
      /\b(?:veuillez|vouloir) (?:patienter|rester)\b|\bmerci de patienter\b|\b(?:conseillers|lignes|operateurs|agents) sont\b|\bne quittez pas\b|\btemps d attente\b|\bappel est (?:tres )?important\b|\bfile d attente\b/,
    asked:
      /\bune? (?:petite? )?(?:instant|moment|minute|seconde)\b|\bje (?:vous passe|vous transfere|regarde)\b/,
    announced:
      /\bbienvenue (?:chez|a|au|sur)\b|\betre enregistre\b|\bnos horaires\b|\bnotre site\b|\bmerci d avoir appele\b/,
    ended:
      /\bnumero (?:que vous avez compose )?n est (?:pas|plus) attribue\b|\brappeler (?:plus tard|pendant)\b/,
    offered: /\bpuis je (?:vous|faire)\b|\bl appareil\b|\bje vous ecoute\b|\bje m appelle\b/,
    answered: /^(?:allo|oui|qui)\b/,
    greeted: /\b(?:allo|oui|bonjour|je)\b/,
  },
  {
    options:
      /\b(?:marque|pulse|presione|oprima|digite)(?: el| la)?(?: tecla| numero)? (?:\d|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|asterisco|almohadilla|numeral)\b/g,
    spoken: /\bdiga (?:si|no)\b|\ben pocas palabras\b/,
    screening: /\b(?:diga|indique|grabe|diganos) su nombre\b|\bmotivo de (?:su|la) llamada\b/,
    waiting:
      /\bllamada es (?:muy )?importante\b|\bpermanezca en\b|\bno cuelgue\b|\b(?:agentes|operadores|asesores|ejecutivos) (?:estan|se encuentran)\b|\btiempo de espera\b|\bsu paciencia\b/,
    asked: /\bun (?:momento|momentito|segundo|segundito|minuto)\b|\b(?:le|lo|la) (?:paso|comunico)\b/,
    announced:
      /\bbienvenid[oa]s? a\b|\bgracias por llamar\b|\bser grabada\b|\bnuestro horario\b|\bnuestr[oa] (?:pagina|sitio)\b/,
    ended:
      /\bnumero (?:marcado )?no existe\b|\bfuera de servicio\b|\bllame (?:mas tarde|en nuestro horario)\b/,
    offered: /\bpuedo ayudar\b|\ble puedo\b|\bmi nombre es\b|\b(?:habla|atiende) [a-z]/,
    answered: /^(?:hola|bueno|diga|digame|si|quien)\b/,
    greeted: /\b(?:hola|bueno|diga|digame|si|buenos|buenas)\b/,
  },
  {
    options:
      /\b(?:prema|premere|premi|digiti|digitare|digita)(?: il| lo| la)?(?: tasto| numero)? (?:\d|zero|uno|due|tre|quattro|cinque|sei|sette|otto|nove|asterisco|cancelletto)\b/g,
    spoken: /\bdica (?:si|no)\b|\bin poche parole\b/,
    screening: /\b(?:dica|indichi|registri) il suo nome\b|\bmotivo della (?:sua )?chiamata\b/,
    waiting:
      /\bchiamata e (?:molto )?importante\b|\b(?:resti|restare|rimanga|rimanere) in (?:linea|attesa)\b|\boperatori sono\b|\bpreghiamo di attendere\b|\btempo di attesa\b/,
    asked: /\bun (?:attimo|attimino|momento|secondo|minuto)\b/,
    announced: /\bbenvenut[oaie]\b|\bessere registrata\b|\bgrazie per aver chiamato\b|\bnostro sito\b/,
    ended:
      /\bnumero (?:selezionato|da lei chiamato) (?:e inesistente|non e attivo)\b|\brichiamare (?:piu tardi|negli orari)\b/,
    offered: /\bposso (?:aiutar|esser)|\bil mio nome e\b/,
    answered: /^(?:pronto|si|chi)\b/,
    greeted: /\b(?:pronto|si|buongiorno|buonasera|sono)\b/,
  },
  {
    options:
      /\b(?:pressione|digite|tecle|disque)(?: o| a)?(?: tecla| numero)? (?:\d|zero|um|dois|tres|quatro|cinco|seis|sete|oito|nove|asterisco)\b/g,
    spoken: /\bdiga (?:sim|nao)\b|\bem poucas palavras\b/,
    screening: /\b(?:diga|informe|grave) o seu nome\b|\bmotivo da (?:sua )?(?:ligacao|chamada)\b/,
    waiting:
      /\b(?:ligacao|chamada) e (?:muito )?importante\b|\b(?:aguarde|permaneca) na linha\b|\b(?:operadores|atendentes|agentes) estao\b|\btempo de espera\b/,
    asked: /\bum (?:momento|momentinho|instante|minuto|minutinho|segundo)\b/,
    announced: /\bbem vind[oa]\b|\bser gravada\b|\bobrigad[oa] por ligar\b|\bnosso site\b/,
    ended: /\bnumero (?:discado )?nao existe\b|\bfora de servico\b|\bligue (?:mais tarde|em nosso horario)\b/,
    offered: /\bposso ajudar\b|\bmeu nome e\b/,
    answered: /^(?:alo|sim|oi|quem)\b/,
    greeted: /\b(?:alo|sim|oi|ola|bom dia|boa tarde|boa noite)\b/,
  },
];
