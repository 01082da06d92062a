import { OTHER_VARIABLES, OWN_VARIABLES, type Variable } from '../../../config/environment.ts'
import type { Topic } from '../topic.ts'

const row = ({ name, what, flag }: Variable): [string, string] => [
  name,
  flag === undefined ? what : `${what} (${flag})`,
]

export const environment: Topic = {
  about:
    'Flags take precedence over the environment, the environment over the project file, and that over your own configuration. An empty variable counts as not set. The flag that overrides a variable is in parentheses.',
  examples: [
    [
      'A server and its key for a whole session',
      'export GDN_BASE_URL=https://api.example.com GDN_API_KEY="$(cat key)"',
    ],
    [
      'One command in another collection',
      'GDN_CONTRACT=0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 GDN_BLOCKCHAIN=polygon gdn nft list',
    ],
    ['Show the configuration in effect, and where each setting comes from', 'gdn config list'],
  ],
  sections: [
    { title: 'Variables of gdn', rows: OWN_VARIABLES.map(row) },
    { title: 'Other variables that gdn honors', rows: OTHER_VARIABLES.map(row) },
  ],
}
