import type { Deps } from '../../deps.ts'
import { replacementCommand } from './replacement.ts'

const formatFees = (isCanceled: boolean) => `the fees of ${isCanceled ? 'the cancellation of ' : ''}this transaction`

export const command = (deps: Deps) =>
  replacementCommand(deps, 'bump', {
    about:
      'A backend automatically raises the fees of a transaction that has been pending for longer than stuck_seconds in its configuration, unless a limit prevents that. This command raises the fees immediately. The running backend signs the same call again with the same nonce and higher fees, up to max_fee_gwei, and watches all attempts. On a public network, the command shows the new maximum cost of the transaction and prompts for confirmation.',
    example: 'Raise the fees now',
    yes: "Don't prompt before spending",
    question: ({ blockchain }, { isCanceled, costsMoney, nowText, atMostText }) =>
      costsMoney ? `Raise ${formatFees(isCanceled)} on ${blockchain}${nowText}${atMostText}?` : null,
    declined: 'nothing was sent',
    does: ({ isCanceled }) => `raises ${formatFees(isCanceled)}`,
    see: 'To see the new fees',
  })
