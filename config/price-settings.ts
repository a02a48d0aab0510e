/** Settings about money, in dollars; read as micro-dollars. */
import { z } from 'zod';
import { parseMoney } from '#base/money.ts';

const price = z.string().transform((value, context) => {
  const micros = parseMoney(value);
  if (micros === null || micros < 0) {
    context.addIssue({ code: 'custom', message: 'must be a decimal amount of dollars, such as 0.06' });
    return z.NEVER;
  }
  return micros;
});

export const priceSettings = {
  STARTING_CREDIT: price.prefault('10.00'),
  OVERDRAFT_LIMIT: price.optional(),
  PRICE_CALL_PER_MINUTE: price.prefault('0.06'),
  PRICE_PHONE_PER_MINUTE: price.prefault('0.01'),
  PRICE_NUMBER_PER_DAY: price.prefault('0.04'),
  PRICE_TTS_PER_MILLION_BYTES: price.prefault('15.00'),
  PRICE_ASR_PER_HOUR: price.prefault('0.36'),
  PRICE_TEXT_PER_MESSAGE: price.prefault('0.01'),
  PRICE_SMS_PER_MESSAGE: price.prefault('0.01'),
};
