/**
 * The widget's texts by language code (config/languages.ts): the ten most common languages and two more.
 * Other languages fall back to English.
 */
import { ar } from './languages/ar.ts';
import { de } from './languages/de.ts';
import { en } from './languages/en.ts';
import { es } from './languages/es.ts';
import { fr } from './languages/fr.ts';
import { hi } from './languages/hi.ts';
import { it } from './languages/it.ts';
import { ja } from './languages/ja.ts';
import { ko } from './languages/ko.ts';
import { pt } from './languages/pt.ts';
import { ru } from './languages/ru.ts';
import type { Texts } from './languages/texts.ts';
import { zh } from './languages/zh.ts';

/** The compiler checks that every language is complete. */
export const LANGUAGES: Readonly<Record<string, Texts>> = { en, zh, hi, es, fr, ar, pt, ru, ja, de, it, ko };
