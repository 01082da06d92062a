/** Exit codes of the command line. They must never change, because scripts rely on them. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  notConfirmed: 3,
  auth: 4,
  refused: 5,
  unreachable: 6,
  failedRows: 7,
  pending: 8,
  unknownOutcome: 9,
  changesPending: 10,
  undecided: 11,
  sigint: 130,
  sigterm: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
