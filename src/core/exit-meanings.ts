import type { EXIT } from './exit-codes.ts'

/** The meaning of each exit code: in a word or two for the end of a command's help, and in full. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, { short: string; long: string }>> = {
  ok: { short: 'done', long: 'Success. An empty list is a success.' },
  unexpected: { short: 'unexpected', long: 'Unexpected error. Run the command again with --debug, and report it.' },
  usage: { short: 'wrong input', long: 'Invalid command line, manifest, file or configuration.' },
  notConfirmed: {
    short: 'not confirmed',
    long: 'You declined a prompt, or there is no terminal for a prompt. --yes confirms in advance.',
  },
  auth: { short: 'key', long: 'The API key is missing, unknown to the server, or lacks the permission.' },
  refused: {
    short: 'refused',
    long: 'The API rejected the request, an NFT failed, or a verification found a difference.',
  },
  unreachable: {
    short: 'unreachable',
    long: "The server can't be reached, can't accept the request now, or every retry failed. Or nothing was sent within --timeout.",
  },
  failedRows: { short: 'failed rows', long: 'The run ended with failed rows. gdn batch results <run> lists them.' },
  pending: {
    short: 'still pending',
    long: 'Accepted, but still pending after the timeout, or rows of a run are not sent yet. --timeout sets a longer timeout.',
  },
  unknownOutcome: {
    short: 'outcome unknown',
    long: 'A request was sent, but its outcome is unknown. gdn retries it only if a second NFT is impossible. gdn batch reconcile resolves the rows of a run. If rows seem to be in the collection already, gdn batch mint --adopt treats them as minted.',
  },
  changesPending: {
    short: 'changes pending',
    long: 'gdn plan --detailed-exit-code found changes.',
  },
  sigint: { short: 'interrupted', long: 'Interrupted by Ctrl-C.' },
  sigterm: { short: 'terminated', long: 'Terminated by a signal.' },
}
