import { BLOCKCHAIN_NAMES, BLOCKCHAINS, type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { RETIRED } from '../../../api/retired.ts'
import type { Topic } from '../topic.ts'

function facts(name: Blockchain): string {
  const { kind, chainId, testnet, transfer } = BLOCKCHAINS[name]
  const chain = kind === 'solana' ? 'Solana' : `EVM, chain id ${chainId}`
  const retired = isEvm(name) ? RETIRED[name] : undefined
  const gone = retired === undefined ? '' : `; the network is gone since ${retired.since}`
  return `${chain}${testnet ? ', testnet' : ''}${transfer ? '' : '; no transfers by the API'}${gone}`
}

export const blockchains: Topic = {
  about: 'A collection lives on one blockchain, and -b names it. What spends on one that is no testnet asks first.',
  examples: [
    ['A collection on a testnet', 'gdn collection create --name Drop -b polygon-mumbai --wallet @alice'],
    ['The same one for every command', 'gdn config set blockchain polygon'],
    [
      'On a backend of your own every one of them is free',
      'gdn nft mint --local -b polygon --title Dawn --receiver @alice',
    ],
  ],
  sections: [
    { title: 'Blockchains', rows: BLOCKCHAIN_NAMES.map((name) => [name, facts(name)]) },
    {
      title: 'Networks that are gone',
      text: 'They live on as embedded chains, on a backend of your own. There they can also stand for another network: chain_id in its settings says for which, and rpc_urls where it is.',
    },
    {
      title: 'Spending',
      text: 'On a server that is not on this machine, a blockchain that is no testnet costs real money: what spends there asks on a terminal, and needs --yes off it. --dry-run shows the request and sends nothing.',
    },
  ],
}
