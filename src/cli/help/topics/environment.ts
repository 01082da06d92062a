import { OTHER_VARIABLES, OWN_VARIABLES, type Variable } from '../../../config/environment.ts'
import type { Topic } from '../topic.ts'

const row = ({ name, what, flag }: Variable): [string, string] => [
  name,
  flag === undefined ? what : `${what} (${flag})`,
]

export const environment: Topic = {
  about:
    'Flags go before the environment, the environment before the project file, that before your own configuration. A variable that is empty counts as not set. In brackets: the flag that goes before the variable.',
  examples: [
    [
      'A server and its key for a whole session',
      'export GDN_BASE_URL=https://api.example.com GDN_API_KEY="$(cat key)"',
    ],
    [
      'One command in another collection',
      'GDN_CONTRACT=0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 GDN_BLOCKCHAIN=polygon gdn nft list',
    ],
    ['What is in force, and where it comes from', 'gdn config list'],
  ],
  sections: [
    { title: 'Of gdn', rows: OWN_VARIABLES.map(row) },
    { title: 'Of others, heeded', rows: OTHER_VARIABLES.map(row) },
  ],
}
