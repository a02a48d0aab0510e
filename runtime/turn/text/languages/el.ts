/** Greek: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const el = {
  phrases: {
    hold: 'Μια στιγμή, παρακαλώ.',
    transferring: 'Σας συνδέω τώρα.',
    toolFiller: 'Θα το ελέγξω αμέσως.',
    trouble: 'Συγγνώμη, παρουσιάστηκε ένα πρόβλημα. Μπορείτε να το επαναλάβετε;',
    apology: 'Λυπάμαι, αντιμετωπίζουμε τεχνικές δυσκολίες. Παρακαλώ καλέστε αργότερα. Αντίο σας.',
    goodbye: 'Αντίο σας.',
    timeIsUp: 'Ο χρόνος μας τελείωσε. Ευχαριστώ, αντίο σας.',
    stillThere: 'Είστε ακόμα εκεί;',
    cannotHear:
      'Λυπάμαι, δεν μπορώ να καταλάβω ομιλία σε αυτή τη γραμμή. Χρησιμοποιήστε τα πλήκτρα ή γράψτε το ' +
      'μήνυμά σας.',
    back: 'Συγγνώμη, σας έχασα για μια στιγμή.',
  },
  acknowledgements:
    'ναι|ναι ναι|εντάξει|οκ|οκέι|ωραία|καλά|μάλιστα|σωστά|ακριβώς|βέβαια|κατάλαβα|α|αχά|μμ|χμ|ε',
  symbols: {
    at: 'παπάκι',
    dot: 'τελεία',
    dash: 'παύλα',
    underscore: 'κάτω παύλα',
    slash: 'κάθετος',
    plus: 'συν',
  },
} satisfies LanguageTexts;
