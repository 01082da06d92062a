import type { EXIT } from './exit-codes.ts'

/** What each exit code means: in a word or two for the end of a command's help, and in full. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, { short: string; long: string }>> = {
  ok: { short: 'done', long: 'Done. A list that is empty is done, too.' },
  unexpected: { short: 'unexpected', long: 'A failure that nobody expected. --debug tells more; report it.' },
  usage: { short: 'wrong input', long: 'The command line, a manifest, a file or the configuration is wrong.' },
  notConfirmed: {
    short: 'not confirmed',
    long: 'A question was answered with no, or nobody was there to answer it: --yes says yes beforehand.',
  },
  auth: { short: 'key', long: 'There is no API key, it is unknown to the server, or it may not do this.' },
  refused: {
    short: 'refused',
    long: 'The API refused the request, an NFT that was waited for failed, or what was compared differs.',
  },
  unreachable: { short: 'unreachable', long: "The server can't be reached, or kept failing." },
  failedRows: { short: 'failed rows', long: 'A batch ended with failed rows: gdn batch results <run> names them.' },
  pending: { short: 'still pending', long: 'Accepted, but not finished when the time was up: --timeout gives more.' },
  unknownOutcome: {
    short: 'outcome unknown',
    long: 'Something was sent and nobody knows what became of it. Nothing of it is sent again by itself: gdn batch reconcile finds out; where rows seem to be in the collection already, gdn batch mint --adopt takes them as minted. Goes before 8, and 8 before 7.',
  },
  sigint: { short: 'interrupted', long: 'Interrupted by Ctrl-C.' },
  sigterm: { short: 'terminated', long: 'Terminated by a signal.' },
}
