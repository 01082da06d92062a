import type { EXIT } from './exit-codes.ts'

/** The meaning of each exit code. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Success. An empty list is a success.',
  unexpected:
    'Unexpected error, or a missing native package. Run the command again with --debug, and report an unexpected error.',
  usage: 'Invalid command line, manifest, file or configuration, or a conflict with another run or process.',
  notConfirmed: 'You declined a prompt, or gdn could not prompt without a terminal. --yes confirms in advance.',
  auth: 'The API key is missing, invalid, expired or revoked, or lacks a permission.',
  refused:
    'The API rejected the request, a cost exceeds its limit, a planned change is impossible, an NFT failed, or a verification found a difference.',
  unreachable:
    "The server can't be reached or can't accept the request now, every retry failed, or nothing was sent within --timeout.",
  failedRows: 'The run ended with failed rows. gdn batch results <run> lists them.',
  pending:
    'An accepted request is still pending after the timeout, or some rows of a run were not sent. --timeout sets a longer timeout.',
  unknownOutcome:
    "A request was sent, but its outcome is unknown. gdn retries it only if it can't take effect twice. gdn batch reconcile resolves the rows of a run. If rows seem to be in the collection already, gdn batch mint --adopt treats them as minted.",
  changesPending: 'gdn plan --detailed-exit-code found changes, even if all of them are impossible.',
  sigint: 'Interrupted by Ctrl-C.',
  sigterm: 'Terminated by a signal.',
}
