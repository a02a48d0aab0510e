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
    'sim|é|ok|okay|tá|tá bom|está bem|certo|claro|pois|pois é|isso|entendi|entendo|aham|uhum|ahã|mhm|hmm|' +
    'ah|hã',
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
} satisfies LanguageTexts;
