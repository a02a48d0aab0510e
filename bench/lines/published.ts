/**
 * Prompts that others have written: those of Asterisk's core sounds, which many PBXs play, and announcements
 * of networks.
 */
import { type Line, linesIn } from './line.ts';

/** The first collection, by which the rules were extended. */
export const PUBLISHED: readonly Line[] = linesIn('en', [
  ['menu', 'If you know the extension of the party you wish to reach, please enter it now.'],
  ['menu', 'Please enter your ten digit phone number, starting with the area code.'],
  ['menu', 'Welcome to the directory. Please enter the first three letters of your party’s last name.'],
  ['menu', 'If this is the person you are looking for, press 1 now, otherwise please press star now.'],
  ['menu', 'Press 1 to accept this call.'],
  ['menu', 'To leave a message, press 1. To hang up, press 2.'],
  ['menu', 'Please enter your password followed by the pound key.'],
  ['hold', 'Your call is now first in line and will be answered by the next available representative.'],
  [
    'hold',
    'All representatives are currently busy. Your call will be answered in the order it was received.',
  ],
  ['hold', 'There are currently three calls waiting to speak with a representative.'],
  ['hold', 'The current estimated hold time is four minutes.'],
  ['hold', 'Thank you for your patience.'],
  ['hold', 'Please wait while I connect your call.'],
  ['hold', 'Please hold while I try that extension.'],
  ['hold', 'Please hold while I try to locate the person you are calling.'],
  ['hold', 'Your call will be answered in the order it was received.'],
  ['screening', 'At the tone, please say your name.'],
  ['screening', 'Please say your name and then press the pound key.'],
  ['screening', 'The party you are trying to reach does not accept unidentified calls.'],
  ['machine', 'Please leave your message after the tone. When done, hang up, or press the pound key.'],
  ['machine', 'The person at extension 12 is unavailable. Please leave your message after the tone.'],
  ['unknown', 'Nobody is available to take your call at the moment.'],
  ['unknown', 'The number you have dialed is not in service. Please check the number and try again.'],
  ['unknown', 'Your call cannot be completed as dialed. Please check the number and dial again.'],
  ['unknown', 'All circuits are busy now. Please try your call again later.'],
  ['unknown', 'The number you have called is no longer in service.'],
  ['unknown', 'If you would like to make a call, please hang up and try again.'],
  ['unknown', 'I am sorry, that is not a valid extension. Please try again.', 'menu'],
]);

/**
 * A second collection, from examples of call flows and from an encyclopedia, made after all rules. None was
 * changed for it.
 */
export const UNSEEN: readonly Line[] = [
  ...linesIn('en', [
    ['hold', 'We’re sorry. All of our agents are busy right now.'],
    ['hold', 'Please stay on the line to be redirected to the main menu.'],
    ['hold', 'Please continue to hold the line. We will be with you shortly.'],
    ['hold', 'Connecting you now. Please wait.'],
    ['hold', 'Please hold while we connect you with the next available representative.'],
    ['machine', 'Please leave a message. Press any key to finish.'],
    ['machine', 'Please leave your message after the tone.'],
    ['menu', 'If you’d like a callback, press 1. To opt out, press 9.'],
    [
      'menu',
      'Please tell me in a few words the reason for your call, when you hear the beep. Once you complete, ' +
        'please press pound.',
    ],
    ['unknown', 'I did not receive a recording.', 'menu'],
    ['unknown', 'Welcome to your CRM system call.'],
    [
      'unknown',
      'I’m sorry; the number you have reached is not in service, or temporarily disconnected. ' +
        'The number you have reached is not in service at this time. This is a recording.',
    ],
    [
      'unknown',
      'We’re sorry; you have reached a number that has been disconnected or is no longer in service. ' +
        'If you feel you have reached this recording in error, please check the number ' +
        'and try your call again.',
    ],
    ['unknown', 'Unfortunately due to temporary service difficulties, we are unable to connect your call.'],
    ['unknown', 'All circuits are busy now, please try your call again.'],
  ]),
  ...linesIn('fr', [['unknown', 'Le numéro que vous avez composé n’est pas disponible de votre région.']]),
];
