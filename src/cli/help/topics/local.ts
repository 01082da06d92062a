import { BLOCKCHAIN_NAMES } from '../../../api/blockchains.ts'
import { COMMANDS } from '../../catalogue.ts'
import type { Topic } from '../topic.ts'

const verbs = COMMANDS.filter(({ command }) => command.startsWith('local '))

export const local: Topic = {
  about:
    'The backend of your own is the whole API on this machine, with chains, files and metadata for real, and without an account or a faucet. Nothing on it is worth money. Any command uses it with --local.',
  examples: [
    [
      'Start it and use it',
      'gdn local start',
      'gdn wallet generate --local --name alice',
      'gdn collection create --local --name Drop -b polygon --wallet @alice',
    ],
    ['A fresh one for one command, in CI', 'gdn local exec -- npm test'],
    ['Always use it, without --local', 'export GDN_PROFILE=local'],
  ],
  sections: [
    { title: 'Commands', rows: verbs.map(({ command, summary }) => [`gdn ${command}`, summary]) },
    {
      title: 'Where it lives',
      text: `Everything it holds is in one folder: $XDG_DATA_HOME/gdn/local, without the variable ~/.local/share/gdn/local. Its API key is in the file api-key there, which only you may read.
It listens on 127.0.0.1, on port 4680, or on a free port where that one is taken; gdn local status says where.`,
    },
    {
      title: 'What it serves',
      text: `The API below /api/v1, its reference at /docs, stored files below /ipfs, JSON-RPC of its chains below /rpc, and metrics at /metrics.
Blockchains: ${BLOCKCHAIN_NAMES.join(', ')}.`,
    },
    {
      title: 'In the foreground',
      text: 'gdn serve is the same with flags for host, port and data folder; gdn key makes further API keys.',
    },
  ],
}
