import { count } from '../../../core/count.ts'
import type { Deps } from '../../deps.ts'
import { replacementCommand } from './replacement.ts'

export const command = (deps: Deps) =>
  replacementCommand(deps, 'cancel', {
    about:
      'The running backend signs an empty transaction with the same nonce and higher fees. When the empty transaction is final, the backend marks the NFTs, the collection or the transfer in the original transaction as failed, and stores the reason. If the original transaction is mined instead, nothing is canceled. On a public network, the command shows the maximum cost for either outcome and prompts for confirmation.',
    example: 'Cancel the transaction',
    yes: "Don't prompt",
    question({ kind, nfts, blockchain }, { isCanceled, atMostText }) {
      if (isCanceled) {
        return `This transaction is already being canceled. Cancel it again with higher fees on ${blockchain}${atMostText}?`
      }
      const effect =
        nfts > 0
          ? `${count(nfts, 'NFT')} ${nfts === 1 ? 'fails' : 'fail'}`
          : `the ${kind === 'provenance' ? 'commitment' : kind} fails`
      const note = nfts > 0 ? ' Later NFTs of the collection wait until the empty transaction is final.' : ''
      return `Cancel this transaction on ${blockchain}${atMostText}? If it is canceled, ${effect}.${note}`
    },
    declined: 'nothing was canceled',
    does: () => 'replaces this transaction',
    see: 'To see the result',
  })
