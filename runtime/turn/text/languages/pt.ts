/** Portuguese: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const pt = {
  phrases: {
    hold: 'Um momento, por favor.',
    transferring: 'Vou transferir a chamada agora.',
    toolFiller: 'Vou verificar isso para você.',
    trouble: 'Desculpe, tive um problema. Pode repetir?',
    apology: 'Lamento, estamos com dificuldades técnicas. Por favor, ligue mais tarde. Até logo.',
    goodbye: 'Até logo.',
    timeIsUp: 'O nosso tempo acabou. Obrigado, até logo.',
    stillThere: 'Ainda está aí?',
    cannotHear: 'Lamento, não consigo entender voz nesta linha. Use o teclado ou escreva a sua mensagem.',
    back: 'Desculpe, a ligação falhou por um segundo.',
  },
  acknowledgements:
    'sim|é|ok|okay|tá|tá bom|tá bem|tá certo|tá ok|está bem|está certo|certo|certinho|claro|' +
    'claro que sim|pois|pois é|pois sim|pois claro|isso|isso mesmo|isso aí|é isso|é isso mesmo|exato|' +
    'exatamente|entendi|entendo|entendido|já entendi|compreendo|compreendi|compreendido|percebi|percebo|' +
    'percebido|já percebi|sei|aham|uhum|ahã|mhm|hmm|hum|ah|hã|eh|oh|uau|nossa|puxa|sério|a sério|mesmo|' +
    'verdade|muito bem|muito bom|ótimo|óptimo|perfeito|excelente|maravilha|maravilhoso|fantástico|beleza|' +
    'legal|joia|fixe|bacana|bom|que bom|tudo bem|tudo certo|tudo claro|com certeza|sem dúvida|certamente|' +
    'absolutamente|claramente|lógico|combinado|de acordo|concordo|estou a ver|estou entendendo|' +
    'faz sentido|sem problema|sem problemas|bom saber|boa ideia|boa',
  listening: {
    openings: 'é|está|tá|isso é|parece|me parece|parece-me|que',
    degrees: 'muito|bem|tão|super|realmente|mesmo|tudo|bastante',
    qualities:
      'bom|bom saber|bem|ótimo|óptimo|perfeito|excelente|claro|certo|correto|verdade|legal|fixe|bacana|' +
      'interessante|maravilhoso|maravilha|fantástico|bonito|lindo|gentil|lógico|fácil|útil|boa ideia|' +
      'uma boa ideia',
    courtesies: 'obrigado|obrigada|muito obrigado|muito obrigada|obrigadão|senhor|senhora|né',
  },
  symbols: {
    at: 'arroba',
    dot: 'ponto',
    dash: 'hífen',
    underscore: 'sublinhado',
    slash: 'barra',
    plus: 'mais',
  },
  abbreviations:
    'Sr.=Senhor|Sra.=Senhora|Dr.=Doutor|Dra.=Doutora|etc.=et cetera|aprox.=aproximadamente|tel.=telefone|' +
    'av.=avenida|Av.=Avenida|&=e',
  consult: {
    introduction: 'Olá, aqui é {agent}. Tenho uma chamada para você, do número {number}.',
    introductionWithoutNumber: 'Olá, aqui é {agent}. Tenho uma chamada para você.',
    question: 'Posso transferir a chamada? Por favor, diga sim ou não.',
    declined: 'Está bem. Obrigado, até logo.',
    callerGone: 'Desculpe, a pessoa desligou. Até logo.',
    yes: 'sim|claro|pode|pode passar|com certeza|está bem|tá bom|okay|ok',
    no: 'não|nao|depois|mais tarde|nunca|ocupado|ocupada',
    voicemail:
      'deixe sua mensagem|deixe a sua mensagem|deixe um recado|deixe o seu recado|após o sinal|depois do ' +
      'sinal|caixa postal|correio de voz|secretária eletrônica',
  },
  questions: {
    yes: 'sim|claro|pode|pode ser|com certeza|está bem|tá bom|ok|okay|isso',
    surely: 'exato|exatamente|correto|isso mesmo|está certo|está correto|perfeito|é isso',
    no: 'não|nao',
    closing: 'é só|só isso|é tudo|mais nada|é só isso',
    courtesy: 'por favor|obrigado|obrigada|muito obrigado|muito obrigada|senhor|senhora',
    open:
      'quem|o que|de que|a que|em que|para que|que número|que dia|que hora|que horas|qual|quais|quando|' +
      'onde|por que|porquê|como|quanto|quanta|quantos|quantas|diga|' +
      'dizer|dizer-me|explicar|descrever|repetir|me dar|dar-me|me informar|me passar|' +
      'ler-me|me ler|diz-me|indicar-me',
    offers: 'algo mais|mais alguma|mais algum|outra coisa|alguma dúvida',
    or: 'ou',
    requests: 'por favor|diga|diga-me|diz-me|me diga|preciso|informe',
    phone:
      'número de telefone|telefone|número de telemóvel|telemóvel|número de celular|celular|' +
      'para que número|para qual número|em que número|em qual número',
    phoneLengths: '351=8,12|55=8,13|2=8,9,11|9=8,9,11|=8,11',
    numbers: 'cep=8',
    digits: 'dígitos|algarismos',
    email: 'e-mail|email|correio eletrônico|correio eletrónico',
    postal: {
      names:
        'seu endereço|teu endereço|o endereço|endereço completo|endereço de entrega|' +
        'endereço residencial|sua morada|tua morada|morada completa|morada de entrega|morada',
      streets: 'rua|avenida|praça|travessa|largo|alameda|estrada|rodovia',
      beforeTown: [4, 7],
      atEnd: [8],
      townBegins: 'são|santa|santo|vila|rio|nova|ponta',
    },
    spelling: 'soletrar|soletre|se escreve',
    fullName: 'nome completo|nome e sobrenome|nome e apelido',
    birth: 'data de nascimento|nasceu',
    several: 'números de telefone|telefones|números|e-mails|endereços|códigos|nomes|ambos',
    joins: 'e',
    about:
      'que país|qual país|que cidade|qual cidade|onde|local de nascimento|' +
      'código do país|ddi|qual o ddd|qual é o ddd|qual o seu ddd|qual é o seu ddd|o resto|restante|' +
      'primeira parte|segunda parte|última parte|continue|que ano|qual ano|que mês|qual mês|que dia|' +
      'qual dia|que hora|que horas|desde quando|por que|porquê|quanto|quantos|quantas|quem|' +
      'um momento|aguarde|enquanto',
    announces: 'número|código|endereço|e-mail|email|data|conta|nome|reserva|pedido',
    otherwise:
      'desculpe|desculpa|como|quê|que|porquê|quem|alô|olá|repita|repete|nada|nenhum|nenhuma|nunca|sem|' +
      'espere|espera',
    leads: 'e|o|a|os|as|seu|sua|um|uma|últimos|primeiros|teu|tua',
    begins: 'é|é o|sim|claro|o',
    asIn: 'de|como',
  },
  pressing: {
    always:
      'pressionei|estou pressionando|vou pressionar|apertei|estou apertando|vou apertar|premi|' +
      'vou premir|estou a premir|carreguei|acabei de pressionar|acabei de apertar',
    withKey:
      'pressiono|pressionando|aperto|apertando|digitei|estou digitando|vou digitar|digito|' +
      'digitando|marquei|vou marcar|disquei|vou discar|teclei|selecionei|escolhi',
    keys: 'asterisco|cardinal|sustenido|tecla|teclas|ramal|extensão',
    denials: 'não|nunca',
  },
} satisfies LanguageTexts;
