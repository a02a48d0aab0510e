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
    'sí|si|ok|okay|okey|vale|dale|listo|claro|claro que sí|pues claro|pues sí|bueno|bien|ajá|aja|aha|mhm|' +
    'hmm|entiendo|ya entiendo|lo entiendo|entendí|entendido|comprendo|comprendido|ya|eso|eso es|' +
    'eso mismo|así es|exacto|exactamente|efectivamente|perfecto|eh|este|ah|oh|uy|guau|anda|ah mira|vaya|' +
    'venga|muy bien|de acuerdo|genial|estupendo|excelente|fantástico|maravilloso|fenomenal|por supuesto|' +
    'desde luego|cómo no|sin duda|correcto|cierto|verdad|en serio|de verdad|seguro|está bien|está claro|' +
    'todo bien|todo claro|tiene sentido|sin problema|ningún problema|ya veo|qué bien|qué bueno|buena idea',
  listening: {
    openings: 'es|eso es|está|eso está|me parece|suena|eso suena|qué',
    degrees: 'muy|tan|súper|super|realmente|bastante|todo|totalmente',
    qualities:
      'bien|bueno|bueno saberlo|perfecto|genial|estupendo|claro|interesante|excelente|fantástico|' +
      'maravilloso|maravilla|correcto|cierto|verdad|bonito|lindo|amable|lógico|fácil|útil|buena idea|' +
      'una buena idea',
    courtesies: 'gracias|muchas gracias|muchísimas gracias|mil gracias|señor|señora|señorita|pues',
  },
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
  questions: {
    yes: 'sí|si|claro|vale|ok|okay|de acuerdo|por supuesto|adelante',
    surely: 'exacto|exactamente|correcto|eso es|así es|perfecto|es correcto|está bien',
    no: 'no',
    closing: 'eso es todo|es todo|nada más|ya está|con eso está bien',
    courtesy: 'por favor|gracias|muchas gracias|señor|señora|señorita',
    open:
      'quién|qué|cuál|cuáles|cuándo|dónde|por qué|cómo|cuánto|cuánta|cuántos|cuántas|dígame|decirme|' +
      'explicar|explicarme|describir|repetir|repetirme|darme|me da|me dice|me puede dar|me puede decir|' +
      'me lee|leerme|me indica|indicarme|me facilita|facilitarme',
    offers: 'algo más|otra cosa|alguna otra|alguna pregunta|ayudarle más',
    or: 'o|u',
    requests: 'por favor|dígame|deme|necesito|indíqueme',
    phone:
      'número de teléfono|teléfono|número de móvil|número de celular|número de contacto|a qué número|' +
      'en qué número',
    // Codes of countries, which callers say without "plus", make a number longer.
    phoneLengths:
      '6=8,9,10|7=8,9,10|8=8,9,10|9=8,9,11|0=10,11|34=8,10,11|51=8,10,11|52=8,10,12|54=8,10,13|' +
      '56=8,10,11|57=8,10,12|=8,10',
    numbers: '',
    digits: 'dígitos|cifras',
    email: 'correo|correo electrónico|email|e-mail',
    postal: {
      names:
        'su dirección|tu dirección|la dirección|dirección postal|dirección completa|' +
        'dirección de entrega|dirección de envío|dirección de facturación|domicilio',
      streets: 'calle|avenida|avda|plaza|paseo|camino|ronda|travesía|carretera|carrera|glorieta',
      beforeTown: [5],
      atEnd: [],
      townBegins: 'san|santa|santo|las|los|la|el|villa',
    },
    spelling: 'deletrear|deletree|deletrearlo|deletrearme|se escribe|se deletrea',
    fullName: 'nombre completo|nombre y apellido|nombre y apellidos',
    birth: 'fecha de nacimiento|nació',
    several:
      'números de teléfono|teléfonos|números|correos|correos electrónicos|códigos|nombres completos|' +
      'ambos',
    joins: 'y|e',
    about:
      'qué país|qué ciudad|dónde|lugar de nacimiento|' +
      'código de país|código del país|prefijo internacional|qué prefijo|cuál es el prefijo|' +
      'qué código de área|cuál es el código de área|el resto|primera parte|segunda parte|' +
      'última parte|continúe|siga|qué año|qué mes|qué día|qué hora|desde cuándo|' +
      'por qué|cuánto|cuántos|cuántas|quién|de quién|un momento|espere|mientras',
    announces: 'número|código|dirección|correo|fecha|cuenta|nombre|reserva|pedido',
    otherwise:
      'perdón|perdone|disculpe|cómo|qué|por qué|quién|hola|repita|repite|nunca|nada|ninguno|ninguna|' +
      'tampoco|sin|espere|espera',
    leads: 'y|el|la|los|las|su|tu|sus|un|una|últimos|últimas|primeros',
    begins: 'es|es el|sí|claro|el',
    asIn: 'de|como',
  },
  pressing: {
    always:
      'he pulsado|pulsé|estoy pulsando|voy a pulsar|acabo de pulsar|he presionado|presioné|' +
      'estoy presionando|voy a presionar|acabo de presionar|he oprimido|oprimí|voy a oprimir',
    withKey:
      'pulso|pulsando|presiono|presionando|oprimo|marco|marqué|he marcado|marcando|voy a marcar|' +
      'estoy marcando|tecleo|he tecleado|he introducido|introduzco|he ingresado|ingresé',
    keys: 'asterisco|almohadilla|numeral|gato|tecla|teclas|extensión',
    denials: 'no|nunca',
  },
} satisfies LanguageTexts;
