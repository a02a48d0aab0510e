/** The widget's texts in German. */
import type { Texts } from './texts.ts';

export const de: Texts = {
  open: 'Mit {name} sprechen',
  start: 'Anruf starten',
  again: 'Noch einmal anrufen',
  type: 'Lieber tippen',
  end: 'Auflegen',
  cancel: 'Abbrechen',
  mute: 'Stummschalten',
  minimise: 'Verkleinern',
  dismiss: 'Schließen',
  send: 'Senden',
  message: 'Nachricht schreiben',
  transcript: 'Mitschrift',
  you: 'Sie',
  agent: 'Agent',
  ready: 'Bereit, wenn Sie es sind',
  connecting: 'Verbinden…',
  reconnecting: 'Verbindung verloren, neuer Versuch…',
  listening: 'Hört zu',
  thinking: 'Denkt nach',
  speaking: 'Spricht',
  ended: 'Das Gespräch ist beendet',
  consent: 'Sie sprechen gleich mit einem automatischen Assistenten. Das Gespräch kann aufgezeichnet werden.',
  accept: 'Zustimmen',
  terms: 'Bedingungen',
  privacy: 'Datenschutz',
  microphoneBlocked:
    'Das Mikrofon ist gesperrt. Erlauben Sie es im Browser für diese Seite und starten Sie neu, oder ' +
    'tippen Sie.',
  microphoneMissing:
    'Es wurde kein Mikrofon gefunden. Schließen Sie eines an und starten Sie neu, oder tippen Sie.',
  connectionLost: 'Die Verbindung ist abgerissen. Prüfen Sie das Netz und starten Sie neu.',
  unreachable: 'Der Dienst ist nicht erreichbar. Prüfen Sie das Netz und versuchen Sie es erneut.',
  notAllowed: 'Diese Seite darf diesen Agenten nicht benutzen.',
  unavailable: 'Der Agent ist nicht verfügbar. Bitte versuchen Sie es später.',
  tooMany: 'Zurzeit zu viele Anrufe. Bitte versuchen Sie es in einer Minute.',
  expired: 'Der Anruf begann nicht rechtzeitig. Bitte starten Sie neu.',
  otherRunning: 'Auf dieser Seite läuft schon ein Gespräch. Beenden Sie es zuerst.',
  failed: 'Der Anruf konnte nicht beginnen. Bitte versuchen Sie es erneut.',
};
